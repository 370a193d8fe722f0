"""Node and SavedTensor: the recorded graph, without the loop that walks it."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar

from .._backend.device import cpu, device, device_of
from .._common import messages as _errors
from .._common.compiled import compiled
from .._common.handles import RemovableHandle, new_registry, register
from .._common.site import RawSite, Site, resolve
from .._dtypes import DTYPE_OF
from .._dtypes import dtype as dtype_type
from .anomaly import Callers, notes_of
from .output_layout import Layout, layout_of
from .protocols import StorageLike, TensorLike
from .scope import Scope

next_sequence_nr = itertools.count().__next__
new_object = object.__new__

LEAF_SEQUENCE_NR = 2**64 - 1
"""PyTorch's number for nodes that accumulate into leaves: they go first."""


class SavedTensor:
    """A tensor a node keeps for its derivative, with the version it had then.

    ``tensor`` is set for inputs. A saved output is kept as bare memory instead: the
    tensor would hold the node that holds the tensor. ``memory`` is the storage; None
    for an input whose memory had no record yet, so that nothing could write to it.
    """

    __slots__ = ("held", "memory", "tensor", "version")

    held: Any  # the array of an output
    memory: Any  # the Storage, or what a pack hook made of the tensor
    tensor: Any  # the Tensor; None for an output
    version: int

    @property
    def array(self) -> Any:
        """What was saved. An input given other memory by ``x.data = y`` is followed."""
        tensor = self.tensor
        return self.held if tensor is None else tensor._data

    @property
    def storage(self) -> Any:
        """The memory's record, made now if nothing had needed one."""
        memory = self.memory
        if memory is None:
            memory = self.memory = self.tensor._storage
        return memory

    @property
    def is_stale(self) -> bool:
        """Whether the memory was written since it was saved."""
        memory: StorageLike | None = self.memory
        if memory is None:
            memory = self.tensor._memory
        return memory is not None and memory.version != self.version


HAND_WRITTEN = frozenset(
    ("AccumulateGrad", "CopyBackwards", "CopySlices", "NotImplemented")
)
"""Nodes that PyTorch calls by their full C++ name; those of ops it generates."""


class Extra:
    """What few nodes have: hooks and user metadata."""

    __slots__ = (
        "metadata",
        "post_hooks",
        "pre_hooks",
        "retain",
        "shown",
        "tensor_hooks",
    )

    def __init__(self) -> None:
        self.shown: weakref.ref[Node] | None = (
            None  # of a written view; see view_history
        )
        self.metadata: dict[Any, Any] = {}
        self.pre_hooks = new_registry()
        self.post_hooks = new_registry()
        self.tensor_hooks: dict[int, dict[int, Any]] = {}  # by output number
        self.retain: dict[int, weakref.ref[Any]] = {}  # tensors, by output number


class InputMetadata:
    """What a node knows of one gradient that it is handed: its shape, dtype, device."""

    __slots__ = ("device", "dtype", "shape")

    is_nested_tensor = False
    is_cpp_nested_tensor = False

    def __init__(self, layout: Layout, where: device) -> None:
        self.shape = list(layout.shape)
        self.dtype: dtype_type = DTYPE_OF[layout.dtype]
        self.device = where


renumbered: list[str] = []
"""Not empty once some node's number was changed: then no order is taken for granted."""


class Node:
    """One backward function of one call.

    ``nodes`` and ``numbers`` are the next functions: per forward input the node that
    made it (None where no gradient goes) and which of its outputs it was. ``layout`` is
    that of the only output; with several it is None and ``several`` is set. ``saved``
    is None once the graph was freed. Subclasses, one per op, carry the derivative.

    What needs ops the backward pass installs: calling a node, and the attributes that
    show what it saved (see ``_engine/node_methods.py``).
    """

    __slots__ = (
        "__weakref__",
        "callers",
        "code",
        "extra",
        "lasti",
        "layout",
        "nodes",
        "numbers",
        "params",
        "saved",
        "scope",
        "seq",
        "several",
        "storage_ids",
    )

    op_name: ClassVar[str] = ""
    slots: ClassVar[tuple[str, ...]] = ()  # names of what `saved` holds
    param_names: ClassVar[tuple[str, ...]] = ()
    second_names: ClassVar[dict[str, str]] = {}  # "indices": "result1"
    readers: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    """What PyTorch shows as saved under names that are no slots or options here."""

    order: ClassVar[tuple[int, ...] | None] = None  # of unpacking, where unlike slots
    accumulates: ClassVar[bool] = False
    dead: ClassVar[bool] = False  # whether gradients end here, seen by nobody
    keeps: ClassVar[bool] = True  # whether there may be something to free
    foreign: ClassVar[bool] = False  # the user's code runs, even without a gradient
    lies_like_operands: ClassVar[bool] = False  # see Op
    part: ClassVar[Callable[..., Any] | None] = None  # of a view's: see view_op()

    callers: Callers  # set in anomaly mode alone: ask anomaly.stack_of()
    code: CodeType | None
    lasti: int
    extra: Extra | None
    layout: Layout | None
    several: tuple[Layout, ...]
    nodes: tuple[Node | None, ...]
    numbers: tuple[int, ...]
    params: tuple[Any, ...]
    saved: tuple[Any, ...] | None
    scope: Scope | None
    seq: int
    storage_ids: int | tuple[int, ...]  # 0 while the output's memory has no record

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Return one gradient per next function.

        ``F`` holds the ops the formula is written in: raw kernels, or recorded ops
        when the derivative is itself to be differentiated. ``grad`` is the gradient
        of the output, or a list with one entry per output.
        """
        raise NotImplementedError

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """How the outputs lie in memory, in order."""
        return self.several if self.layout is None else (self.layout,)

    def name(self) -> str:
        """Return the name PyTorch gives this function: "MulBackward0"."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in HAND_WRITTEN else name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the gradients go: (node, which of its outputs) per input."""
        return tuple(
            (None if node is not None and node.dead else node, number)
            for node, number in zip(self.nodes, self.numbers, strict=True)
        )

    @property
    def site(self) -> Site | None:
        """The user's line that made this node."""
        return None if self.code is None else resolve(self.code, self.lasti)

    @property
    def raw_site(self) -> RawSite | None:
        """Code object and instruction of :attr:`site`, unresolved."""
        return None if self.code is None else (self.code, self.lasti)

    def more(self) -> Extra:
        """Return the record of hooks and metadata, made when first asked for."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    def register_prehook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs."""
        return register(self.more().pre_hooks, hook)

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran."""
        return register(self.more().post_hooks, hook)

    def free(self) -> None:
        """Let go of the saved tensors; a second backward is refused from here on."""
        if self.saved and any(entry is not None for entry in self.saved):
            self.saved = None

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on this node, and those of anomaly mode."""
        notes = self.more().metadata
        for name, note in notes_of(self).items():
            notes.setdefault(name, note)
        return notes

    @property
    def requires_grad(self) -> bool:
        """True: where nothing needs a gradient, there is no node."""
        return True

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        where = self._device()
        return tuple([InputMetadata(layout, where) for layout in self.layouts])

    def _device(self) -> device:
        """Return where the node computes, by what it refers to."""
        arrays = [getattr(entry, "array", None) for entry in self.saved or ()]
        variable = getattr(self, "variable", None)
        arrays.append(None if variable is None else variable._data)
        found = [device_of(array) for array in arrays if array is not None]
        return next((each for each in found if each != cpu), cpu)

    def _sequence_nr(self) -> int:
        return self.seq

    def _set_sequence_nr(self, number: int) -> None:
        self.seq = number
        if not renumbered:
            renumbered.append(self.name())

    def _register_hook_dict(self, tensor: Any) -> None:
        """Let the hooks in ``tensor._backward_hooks`` see this node's gradients."""
        hooks = tensor._backward_hooks
        if hooks is not None:
            self.more().tensor_hooks[tensor._nr] = hooks

    if TYPE_CHECKING:

        def __call__(self, *gradients: Any) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def unpack(self, F: Any) -> list[Any]:
        """Return what was saved, checked against the version it was saved at."""
        if self.saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        unpack_one = F.unpack
        if self.order is None:
            return [
                unpack_one(self, entry) if type(entry) is SavedTensor else entry
                for entry in self.saved
            ]
        values = list(self.saved)
        for at in self.order:
            if type(values[at]) is SavedTensor:
                values[at] = unpack_one(self, values[at])
        return values


def shared(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return one tuple for all that are equal, of whole numbers or of such tuples.

    The garbage collector counts every tuple of a graph: nodes that have the same share
    one.
    """
    found = _shared.get(value)
    if found is None:
        if len(_shared) >= _SHARED_KEPT:
            _shared.clear()
        found = _shared[value] = value
    return found


_shared: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_SHARED_KEPT = 65_536


def save_input(tensor: TensorLike) -> SavedTensor:
    """Keep an input, with the version of its storage now."""
    saved = new_object(SavedTensor)
    saved.memory = memory = tensor._memory
    saved.version = 0 if memory is None else memory.version
    saved.tensor = tensor
    return saved


def save_output(tensor: TensorLike) -> SavedTensor:
    """Keep an output as bare memory: no reference back to the tensor."""
    saved = new_object(SavedTensor)
    saved.held = tensor._data
    saved.memory = storage = tensor._storage
    saved.version = storage.version
    saved.tensor = None
    return saved


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the leaf's ``.grad``."""

    __slots__ = ("kept", "variable")
    accumulates = True
    variable: Any  # the leaf, a Tensor
    kept: SavedTensor | None  # the last one: nodes that save a parameter share it

    def __init__(self, variable: TensorLike) -> None:
        self.variable = variable
        self.kept = None
        self.nodes, self.numbers = (), ()
        self.saved, self.params = (), ()
        self.layout = layout_of(variable._data)
        self.storage_ids = variable._storage.id
        self.scope = None
        self.extra = None
        self.code, self.lasti = None, 0
        self.seq = LEAF_SEQUENCE_NR

    def take(self, dtype: Any) -> None:
        """Let gradients arrive in a dtype that is not the leaf's own."""
        assert self.layout is not None
        self.layout = self.layout._replace(dtype=dtype.numpy)

    def keep(self, tensor: TensorLike) -> SavedTensor:
        """Save the leaf as it is now, for all nodes that want it as it is now.

        ``tensor`` may be another one that has the leaf's gradient: what a hook gave
        back for it.
        """
        saved = save_input(tensor)
        if tensor is self.variable:
            self.kept = saved
        return saved


class Dropped(AccumulateGrad):
    """The end of a path that leads nowhere: PyTorch's graph has no edge here.

    A view made while nothing was recorded requires grad because its base does, yet
    gradients reach neither of them.
    """

    __slots__ = ()
    dead = True


def accumulator_of(leaf: TensorLike) -> AccumulateGrad:
    """Return the one node that accumulates into ``leaf``, made when first needed."""
    if not leaf._needs:
        return Dropped(leaf)
    extra = leaf.more()
    node = None if extra.accumulator is None else extra.accumulator()
    return _new_accumulator(leaf, extra) if node is None else node


def _new_accumulator(leaf: TensorLike, extra: Any) -> AccumulateGrad:
    with _making:
        node = None if extra.accumulator is None else extra.accumulator()
        if node is None:  # no other thread was quicker
            node = AccumulateGrad(leaf)
            if isinstance(extra.grad_dtype, dtype_type):
                node.take(extra.grad_dtype)
            extra.accumulator = weakref.ref(node)
    return node


_making = threading.Lock()


shared = compiled(shared)
save_input = compiled(save_input)
save_output = compiled(save_output)
accumulator_of = compiled(accumulator_of)
Node.free = compiled(Node.free)
