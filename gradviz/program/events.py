"""What can happen in a run. Every event has an index; together they are its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal, Protocol

from gradviz.program.values import (
    NodeRun,
    ParameterState,
    RawSite,
    StaleSaved,
    Summary,
    Value,
    Write,
)


@dataclass(slots=True, eq=False, kw_only=True)
class Event:
    """One thing that happened; ``index`` counts all events of the run."""

    index: int
    site: RawSite | None = None  # the innermost frame of the user
    stack: tuple[RawSite, ...] = ()  # the user's frames further out, innermost first
    thread: int = 0

    @property
    def frames(self) -> tuple[RawSite, ...]:
        """The user's frames, innermost first."""
        return () if self.site is None else (self.site, *self.stack)

    def may_share_callers(self, other: Event) -> bool:
        """Tell whether two events of a line came the same way, as far as was noted.

        In a step that is told in brief, the frames around a call are left out.
        """
        return not self.stack or not other.stack or self.stack == other.stack


@dataclass(slots=True, eq=False, kw_only=True)
class Call(Event):
    """One call of the tensor library: an op, a factory, a method, an attribute.

    ``op`` is the function's bare name as PyTorch spells it: ``add_``, ``__setitem__``,
    ``item``, ``tensor``, ``from_numpy``, ``softmax``. Attributes that matter are calls
    too: ``grad.get``, ``grad.set``, ``data.get``, ``data.set``, ``requires_grad.set``.
    Engines may log ``cross_entropy`` as one call or as the ops inside it: rules that
    need the mathematics look at the nodes.
    """

    op: str
    inputs: tuple[Value, ...] = ()  # the tensors among the arguments, before the call
    outputs: tuple[Value, ...] = ()  # the tensors among the results, after it
    arguments: tuple[Any, ...] = ()  # all positional ones; a tensor is its Value
    keywords: dict[str, Any] = field(default_factory=dict[str, Any])
    nodes: tuple[int, ...] = ()  # the nodes it made
    writes: tuple[Write, ...] = ()  # the storages it changed
    grad_enabled: bool = True
    inference: bool = False
    module: int | None = None  # the innermost module call around it, as event index
    within: int | None = None  # the Function.apply, gradcheck, checkpoint or backward
    # function around it, as event index: what runs inside is not the user's main line
    result: Any = None  # of item(), is_leaf and other plain results
    error: str | None = None  # "RuntimeError: ..." if it raised


class Runs(Protocol):
    """The turns of the nodes of a pass, in short."""

    def records(self) -> list[NodeRun]:
        """Return them."""
        ...

    def at_leaves(self) -> list[tuple[int, Summary]]:
        """Return each leaf's node with what came to it: a small part of them."""
        ...


@dataclass(slots=True, eq=False, kw_only=True)
class Backward(Event):
    """One call of backward() or autograd.grad(), with what it was about to walk."""

    api: Literal["backward", "grad"] = "backward"
    roots: tuple[Value, ...] = ()
    inputs: tuple[Value, ...] = ()  # inputs= given to it
    gradients: tuple[Value | None, ...] = ()  # gradient= given to it
    retain_graph: bool = False
    create_graph: bool = False
    nodes: tuple[int, ...] = ()  # reached, first the root's; () where too many
    node_count: int = 0
    leaves: tuple[int, ...] = ()  # tensors reached
    stale: tuple[StaleSaved, ...] = ()
    freed: tuple[int, ...] = ()  # nodes that an earlier pass had freed already
    ran: list[NodeRun] | Runs = field(default_factory=list[NodeRun])
    results: tuple[Value | None, ...] = ()  # of autograd.grad
    error: str | None = None
    error_node: int | None = None  # the node that was running
    number: int = 0  # of all passes of the run, from 1; 0: it is none of them
    whole: bool = True  # values were looked at since the pass before
    unusual: bool = False  # a NaN or Inf was noticed in a step that was told in brief

    @property
    def runs(self) -> list[NodeRun]:
        """The turns of nodes, in order, where somebody listened to them."""
        return self.ran if isinstance(self.ran, list) else self.ran.records()

    @property
    def root_nodes(self) -> list[int]:
        """The nodes that gave its roots, where they have a graph."""
        return [root.node for root in self.roots if root.node is not None]

    @property
    def accumulates_into(self) -> tuple[int, ...]:
        """The leaves whose ``.grad`` it adds to, as far as its graph tells."""
        if self.api != "backward":
            return ()
        asked = {each.tensor for each in self.inputs}
        return tuple([leaf for leaf in self.leaves if not asked or leaf in asked])

    def at_leaves(self) -> list[tuple[int, Summary]]:
        """Return each leaf's node with the gradient that came to it, in order."""
        if not isinstance(self.ran, list):
            return self.ran.at_leaves()
        came = [(run.node, run.incoming[0]) for run in self.ran if run.incoming]
        return [(key, each) for key, each in came if key < 0 and each is not None]


@dataclass(slots=True, eq=False, kw_only=True)
class ModeSwitched(Event):
    """Grad mode or inference mode went on or off; ``site`` is the user's line."""

    how: str  # "no_grad", "set_grad_enabled", "inference_mode", "enable_grad"
    enabled: bool  # whether gradients are recorded from here on
    leaving: bool = False  # a with block or a decorated function ended
    function: CodeType | None = None  # the decorated function


@dataclass(slots=True, eq=False, kw_only=True)
class OptimizerCall(Event):
    """An optimizer was made, stepped, cleared gradients, or was given a saved state.

    Of a state that it refused, ``given`` says how many parameters each group of that
    has, and ``sizes`` how many its own have; these are known of those that were made,
    too.
    """

    what: Literal["init", "step", "zero_grad", "load", "refused"]
    optimizer: int
    states: tuple[ParameterState, ...] = ()
    sizes: tuple[int, ...] = ()
    given: tuple[int, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class ScheduleCall(Event):
    """A scheduler of learning rates was made or stepped; ``rates`` are those after."""

    what: Literal["init", "step"]
    scheduler: int
    kind: str  # "StepLR"
    optimizer: int
    rates: tuple[float, ...] = ()  # of the optimizer's groups


@dataclass(slots=True, eq=False, kw_only=True)
class ScalerCall(Event):
    """A GradScaler that is enabled scaled losses, unscaled gradients or stepped."""

    what: Literal["scale", "unscale", "step"]
    scale: float | None = None  # None also where asking would wait for a GPU
    optimizer: int | None = None
    scaled: tuple[Value, ...] = ()  # what scale() returned


@dataclass(slots=True, eq=False, kw_only=True)
class ModuleCall(Event):
    """A module's forward; ``left`` is the index of the event after its last."""

    module: int
    training: bool
    grad_enabled: bool
    left: int | None = None
    parent: int | None = None  # the module call around it, as event index


@dataclass(slots=True, eq=False, kw_only=True)
class TrainingSwitched(Event):
    """train() or eval() was called on a module, or its flag was set."""

    module: int
    training: bool
    changed: tuple[int, ...] = ()  # all modules whose flag it changed, itself included


@dataclass(slots=True, eq=False, kw_only=True)
class StateLoaded(Event):
    """A module took a saved state, and the keys that did not fit were passed over."""

    module: int
    given: int  # entries of the state
    fitting: int  # of these, those whose key is one of the module's
    missing: tuple[str, ...] = ()  # keys of the module that the state lacks, the first
    unexpected: tuple[str, ...] = ()  # keys of the state that the module lacks


@dataclass(slots=True, eq=False, kw_only=True)
class HookRegistered(Event):
    """A hook was put on a tensor, a node or a module."""

    kind: str  # "tensor", "post_accumulate", "node", "node_pre", "module_backward"...
    hook: int
    code: CodeType | None = None
    value: Value | None = None  # the tensor, as it was
    target: int | None = None  # the node or the module
    removed: bool = False
    holds: tuple[Value, ...] = ()  # tensors in the closure or defaults of the hook
    owner: int | None = None  # of a method: tells its objects apart. None: a function


@dataclass(slots=True, eq=False, kw_only=True)
class HookRan(Event):
    """A hook was called in a backward pass."""

    hook: int
    changed: bool = False  # it wrote its gradient in place
    returned: bool = False  # it replaced its gradient


@dataclass(slots=True, eq=False, kw_only=True)
class Raised(Event):
    """An exception left the recorded code; ``site`` is the user's innermost frame."""

    kind: str  # "RuntimeError"
    text: str
