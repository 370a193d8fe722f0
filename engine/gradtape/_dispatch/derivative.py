"""What an op's node does in backward: unpack, check versions, apply the formulas.

A chain of a million products runs two million of these formulas, so each op has a
``run`` of its own here too, made of a template.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._common import messages as _errors
from .._common.messages import BACKWARD_TWICE
from .._common.site import resolve
from .._dtypes import DTYPE_OF
from .._graph.anomaly import anomaly
from .._graph.node import Node, SavedTensor
from .._graph.op import Formula, Op, saving_order
from .._modes.grad_mode import mode
from .._saved.hooks import Packing, unpack_array
from .._saved.slots import FREED
from .._tensor.tensor import Tensor
from .templates import GIVEN, Picker, bound, picker

Gradients = tuple[Any, ...]


# ---- what was saved ----------------------------------------------------------------


def check_version(node: Node, saved: SavedTensor) -> Any:
    """Return the array that was saved, unless it was overwritten since."""
    if saved.is_stale:
        memory: Any = saved.memory
        if type(memory) is Packing:
            return unpack_array(memory)
        raise modified_error(node, saved)
    return saved.array


def modified_error(node: Node | None, saved: SavedTensor) -> RuntimeError:
    """Build PyTorch's error for a saved tensor that an in-place op changed.

    PyTorch cannot say who wrote; the write log can, and a note on the error does.
    """
    dtype = DTYPE_OF[saved.array.dtype]
    producer = ""
    source = node if saved.tensor is None else saved.tensor.grad_fn
    if source is not None:
        number = _output_of(source, saved) if saved.tensor is None else saved.tensor._nr
        name = _errors.op_of_node(source.name())
        producer = f", which is output {number} of {name},"
    error = RuntimeError(
        _errors.MODIFIED.format(
            kind=_errors.type_in_graph(dtype),
            shape=_errors.shape_text(saved.array.shape),
            producer=producer,
            now=saved.storage.version,
            saved=saved.version,
            hint=_errors.MODIFIED_HINT_ANOMALY
            if anomaly.enabled
            else _errors.MODIFIED_HINT,
        )
    )
    for write in saved.storage.writes:
        if write.version > saved.version:
            error.add_note(_write_note(node, write))
    return error


def _output_of(node: Node, saved: SavedTensor) -> int:
    """Return which output of ``node`` an entry of what it saved is."""
    entries = node.saved or ()
    slot = node.slots[entries.index(saved)] if saved in entries else ""
    return int(slot.removeprefix("result") or 0)


def _write_note(node: Node | None, write: Any) -> str:
    where = "" if write.site is None else f" at {resolve(*write.site)}"
    keeper = "a checkpoint"  # which keeps its arguments in no node
    if node is not None:
        keeper = node.name() + ("" if node.site is None else f" ({node.site})")
    return (
        f"{write.op}{where} made version {write.version} of memory that {keeper} had "
        "saved."
    )


def unpacked(node: Any, F: Any) -> list[Any]:
    """Return what a node saved, for its formulas; raise where the graph was freed."""
    saved = node.saved
    if saved is None:
        raise RuntimeError(BACKWARD_TWICE)
    values = list(saved)
    raw = F.raw
    for at in node.order or range(len(values)):
        entry = values[at]
        if type(entry) is SavedTensor:
            tensor: Any = entry.tensor
            memory = entry.memory
            if memory is None:
                memory = tensor._memory
            if raw and (memory is None or memory.version == entry.version):
                values[at] = entry.held if tensor is None else tensor._data
            else:
                values[at] = F.unpack(node, entry)
    return values


def unpack_kept(node: Any, F: Any, at: int) -> Any:
    """Return what a node keeps in the slot of this number, not being a number."""
    kept = node.kept1 if at else node.kept0
    kind = type(kept)
    if kind is Tensor:
        memory = kept._memory
        if F.raw and (memory is None or not memory.version):
            return kept._data
        return F.unpack(node, node.saved[at])
    if kind is SavedTensor:
        memory = kept.memory
        if F.raw and memory is not None and memory.version == kept.version:
            return kept.array
        return F.unpack(node, kept)
    return kept


# ---- what a template reads of its op -----------------------------------------------

op: Op = GIVEN
f0: Callable[..., Any] = GIVEN  # the formulas
f1: Callable[..., Any] = GIVEN
pick0: Picker = GIVEN  # of what is known, what they ask for
pick1: Picker = GIVEN
hands_on0: bool = GIVEN  # they return the gradient as it came
hands_on1: bool = GIVEN
keeps: bool = GIVEN  # something is saved
reads: bool = GIVEN  # some formula asks for options or metadata
two_kept: bool = GIVEN
two_formulas: bool = GIVEN
crossed: bool = GIVEN  # each formula asks for the other's operand alone
alike: bool = GIVEN  # ... and does the same with it
second_first: bool = GIVEN  # the order of unpacking
both: Callable[..., Any] = GIVEN
twice: Callable[..., Any] = GIVEN
plan: tuple[tuple[Formula, Picker, bool], ...] = GIVEN
all_at: int = GIVEN  # where the sequence of tensors is among the operands


def plain_call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a formula whose ops are recorded: it needs no context of its own."""
    return function(*args)


# ---- the templates for arithmetic --------------------------------------------------


def run_kept(self: Any, F: Any, grad: Any) -> Gradients:
    """Run one formula, or two that both take the gradient, on one or two values."""
    raw = F.raw
    v0 = self.kept0
    if v0 is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    v1: Any = None
    if second_first:
        v1 = unpack_kept(self, F, 1)
    # A bare tensor was saved at version 0: see _saved/slots.py.
    kind = type(v0)
    if kind is Tensor and raw and (v0._memory is None or not v0._memory.version):
        v0 = v0._data
    elif kind is Tensor or kind is SavedTensor:
        v0 = unpack_kept(self, F, 0)
    if two_kept and not second_first:
        v1 = self.kept1
        kind = type(v1)
        if kind is Tensor and raw and (v1._memory is None or not v1._memory.version):
            v1 = v1._data
        elif kind is Tensor or kind is SavedTensor:
            v1 = unpack_kept(self, F, 1)
    call = mode.now.run if raw else plain_call
    if not two_formulas:
        if reads:
            return (call(f0, F, grad, *pick0((v0, *self.params))),)
        return (call(f0, F, grad, v0, v1) if two_kept else call(f0, F, grad, v0),)
    first, second = self.nodes
    if second is None:
        return (call(f0, F, grad, v1) if crossed else call(f0, F, grad, v0, v1)), None
    if first is None:
        return None, (call(f1, F, grad, v0) if crossed else call(f1, F, grad, v0, v1))
    if alike and raw and v0 is v1 and first is second:
        return call(twice, F, grad, v0)
    return call(both, F, grad, v0, v1)


def both_formulas(F: Any, grad: Any, v0: Any, v1: Any) -> Gradients:
    """Call two formulas, of which the last may write over the gradient."""
    if crossed:
        other = f1(F.keeping, grad, v0)
        return f0(F, grad, v1), other
    other = f1(F.keeping, grad, v0, v1)
    return f0(F, grad, v0, v1), other


def one_formula_twice(F: Any, grad: Any, v0: Any) -> Gradients:
    """Call one of two formulas that are alike, for ``x * x``.

    Not for ``x * x.detach()``, whose gradients belong to two tensors: each is to have
    an array of its own. Where nobody sees the two before they are added up, that is
    done here, in place.
    """
    found = f0(F, grad, v0)
    if F.owns:
        found += found
        return found, None
    return found, found


def take_none(F: Any, grad: Any, v0: Any, v1: Any) -> Any:
    return f0(F, grad)


def take_first(F: Any, grad: Any, v0: Any, v1: Any) -> Any:
    return f0(F, grad, v0)


def take_second(F: Any, grad: Any, v0: Any, v1: Any) -> Any:
    return f0(F, grad, v1)


def take_swapped(F: Any, grad: Any, v0: Any, v1: Any) -> Any:
    return f0(F, grad, v1, v0)


# ---- the templates for all other ops -----------------------------------------------


def run_one(self: Any, F: Any, grad: Any) -> Gradients:
    """Run the only formula, of a single next function."""
    if hands_on0:
        return (grad,)
    call = mode.now.run if F.raw else plain_call
    if keeps:
        values = unpacked(self, F)
        if reads:
            values += self.params
        return (call(f0, F, grad, *pick0(values)),)
    if reads:
        return (call(f0, F, grad, *pick0(self.params)),)
    return (call(f0, F, grad),)


def run_two(self: Any, F: Any, grad: Any) -> Gradients:
    """Run two formulas, one for each of two next functions."""
    first, second = self.nodes
    if hands_on0 and hands_on1:
        return (None if first is None else grad), (None if second is None else grad)
    call = mode.now.run if F.raw else plain_call
    values: list[Any] = unpacked(self, F) if keeps else []
    if reads:
        values += self.params
    keeping = F.keeping  # the gradient goes on: no other formula may write over it
    g0 = g1 = None
    if first is not None:
        g0 = grad if hands_on0 else call(f0, keeping, grad, *pick0(values))
    if second is not None:
        g1 = grad if hands_on1 else call(f1, keeping, grad, *pick1(values))
    return g0, g1


def run_many(self: Any, F: Any, grad: Any) -> Gradients:
    """Run formulas for any number of next functions, some for several at once."""
    call = mode.now.run if F.raw else plain_call
    values: list[Any] = unpacked(self, F) if keeps else []
    needs = tuple([node is not None for node in self.nodes])
    values += (*self.params, needs)
    space = F.keeping if len(plan) > 1 else F
    gradients: list[Any] = [None] * len(needs)
    for formula, pick, hands_on in plan:
        edges = formula.edges
        if formula.joint:
            if not any(needs[at] for at in edges):
                continue
            found = call(formula.function, space, grad, *pick(values))
            for at, each in zip(edges, found, strict=True):
                gradients[at] = each if needs[at] else None
        elif needs[edges[0]]:
            found = grad
            if not hands_on:
                found = call(formula.function, space, grad, *pick(values))
            gradients[edges[0]] = found
    return tuple(gradients)


def run_sequence(self: Any, F: Any, grad: Any) -> Gradients:
    """Run the formulas of an op that takes a sequence: nodes differ in their edges."""
    call = mode.now.run if F.raw else plain_call
    needs = tuple([node is not None for node in self.nodes])
    values = [*(unpacked(self, F) if keeps else ()), *self.params, needs]
    gradients: list[Any] = [None] * len(op.edges)
    for formula, pick, _ in plan:
        found = call(formula.function, F, grad, *pick(values))
        if formula.joint:
            for at, each in zip(formula.edges, found, strict=True):
                gradients[at] = each
        else:
            gradients[formula.edges[0]] = found
    gradients[all_at : all_at + 1] = gradients[all_at] or [None] * (
        len(needs) - len(op.tensors) + 1
    )
    return tuple(
        [each if need else None for each, need in zip(gradients, needs, strict=True)]
    )


# ---- binding -----------------------------------------------------------------------


def bind_run(op: Op) -> Callable[..., Gradients]:
    """Return the ``run`` method of the op's node type."""
    formulas = op.formulas
    if not formulas:
        return Node.run
    if _is_kept(op):
        return _bind_kept(op)
    known = len(op.saves) + len(op.param_names)
    reads = any(pick not in range(len(op.saves)) for f in formulas for pick in f.picks)
    facts: dict[str, Any] = {"op": op, "keeps": bool(op.saves), "reads": reads}
    facts["unpacked"] = bound(unpacked, "unpacked", {})
    singles = [(at,) for at in range(len(op.edges))]
    if (
        len(formulas) < 3
        and op.listed is None
        and [f.edges for f in formulas] == singles
        and not any(f.joint or -1 in f.picks for f in formulas)  # -1: "needs"
    ):
        count = known if reads else len(op.saves)
        every = tuple(range(count))
        for at, formula in enumerate(formulas):
            facts[f"f{at}"] = formula.function
            facts[f"pick{at}"] = (
                _all if formula.picks == every else picker(formula.picks)
            )
            facts[f"hands_on{at}"] = formula.hands_on
        template = run_one if len(formulas) == 1 else run_two
        return bound(template, op.name, facts)
    facts["plan"] = tuple([(f, picker(f.picks), f.hands_on) for f in formulas])
    facts["all_at"] = op.listed
    template = run_many if op.listed is None else run_sequence
    return bound(template, op.name, facts)


def _all(values: Sequence[Any]) -> Sequence[Any]:
    return values


def _is_kept(op: Op) -> bool:
    """Tell whether :func:`run_kept` serves an op."""
    return (
        op.slotted
        and op.pointwise
        and [f.edges for f in op.formulas] in ([(0,)], [(0,), (1,)])
        and len(op.edges) == len(op.formulas)
        and not any(f.joint or f.hands_on or -1 in f.picks for f in op.formulas)
        and not (op.param_names and (len(op.formulas) > 1 or len(op.saves) > 1))
    )


def _bind_kept(op: Op) -> Callable[..., Gradients]:
    formulas, count = op.formulas, len(op.saves)
    crossed = count == 2 and [f.picks for f in formulas] == [(1,), (0,)]
    picks = formulas[0].picks
    facts: dict[str, Any] = {
        "two_kept": count == 2,
        "two_formulas": len(formulas) == 2,
        "crossed": crossed,
        "alike": crossed and _are_alike(formulas),
        "second_first": saving_order(op) is not None,
        "reads": count == 1 and picks != (0,),
        "pick0": picker(picks),
    }
    for at, formula in enumerate(formulas):
        facts[f"f{at}"] = formula.function
        if not crossed and not facts["reads"]:
            known = 2 if len(formulas) == 2 else count
            facts[f"f{at}"] = _taking_all(formula, known)
    facts["both"] = bound(both_formulas, op.name, facts)
    facts["twice"] = bound(one_formula_twice, op.name, facts)
    return bound(run_kept, op.name, facts)


def _taking_all(formula: Formula, count: int) -> Callable[..., Any]:
    """Return a formula as a function of all that is saved."""
    if formula.picks == tuple(range(count)):
        return formula.function
    template = _TAKING[formula.picks]
    return bound(template, formula.function.__name__, {"f0": formula.function})


_TAKING: dict[tuple[int, ...], Callable[..., Any]] = {
    (): take_none,
    (0,): take_first,
    (1,): take_second,
    (1, 0): take_swapped,
}


def _are_alike(formulas: Sequence[Formula]) -> bool:
    """Tell whether each formula does with the other's operand what that one does."""
    first, second = (formula.function.__code__ for formula in formulas)
    return all(
        getattr(first, part) == getattr(second, part)
        for part in ("co_code", "co_names", "co_consts")
    )
