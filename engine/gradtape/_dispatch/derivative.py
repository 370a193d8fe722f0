"""What an op's node does in backward: unpack, check versions, apply the formulas.

A chain of a million products runs two million of these formulas, so each op has a
``run`` of its own here too, made of a template.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._common import messages as _errors
from .._common.compiled import compiled
from .._common.messages import BACKWARD_TWICE
from .._common.site import resolve
from .._dtypes import DTYPE_OF
from .._graph.anomaly import anomaly
from .._graph.node import Node, SavedTensor
from .._graph.op import Formula, Op, saving_order
from .._modes.grad_mode import mode
from .._saved.hooks import Packing, unpack_array
from .._saved.slots import FREED
from .._storage.storage import Storage
from .._tensor.tensor import Tensor
from .specialise import specialised
from .templates import GIVEN, Picker, bound, picker, template

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


def unpack_kept(node: Any, F: Any, at: int) -> Any:
    """Return what a node keeps in the slot of this number.

    Another thread that goes through the same graph may free it between two looks.
    """
    kept = node.kept1 if at else node.kept0
    if kept is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    kind = type(kept)
    if kind is Tensor:
        memory = kept._memory
        if F.raw and (memory is None or not memory.version):
            return kept._data
        return F.unpack(node, node.saved[at])
    if kind is Storage:
        if F.raw and not kept.version:
            return kept.owner
        return F.unpack(node, node.saved[at])
    if kind is SavedTensor:
        memory = kept.memory
        if F.raw and memory is not None and memory.version == kept.version:
            return kept.array
        return F.unpack(node, kept)
    return kept


unpack_kept = compiled(unpack_kept)


# ---- what a template reads of its op -----------------------------------------------

f0: Callable[..., Any] = GIVEN  # the formulas
f1: Callable[..., Any] = GIVEN
pick0: Picker = GIVEN  # of what is known, what they ask for
reads: bool = GIVEN  # some formula asks for options or metadata
two_kept: bool = GIVEN
two_formulas: bool = GIVEN
crossed: bool = GIVEN  # each formula asks for the other's operand alone
alike: bool = GIVEN  # ... and does the same with it
second_first: bool = GIVEN  # the order of unpacking
both: Callable[..., Any] = GIVEN
twice: Callable[..., Any] = GIVEN

slots: tuple[int, ...] = GIVEN  # of what is saved, in the order of unpacking
asks_needs: bool = GIVEN  # some formula asks which next functions there are
several_formulas: bool = GIVEN
only: bool = GIVEN  # there is one next function
singles: tuple[tuple[Callable[..., Any], int, tuple[int, ...], bool], ...] = GIVEN
"""Where each next function has a formula: that, its number, its picks, and whether it
hands the gradient on as it came."""
hands_on_alone: tuple[int, ...] = GIVEN  # the next functions, if all formulas do so
plan: tuple[
    tuple[Callable[..., Any], bool, tuple[tuple[int, int], ...], tuple[int, ...]], ...
] = GIVEN
"""Else: formulas, are they joint, their (parts, next functions), and their picks."""
edge_count: int = GIVEN
listed: bool = GIVEN  # the op takes a sequence of tensors ...
all_at: int = GIVEN  # ... at this place


def plain_call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a formula whose ops are recorded: it needs no context of its own."""
    return function(*args)


# ---- the templates for arithmetic --------------------------------------------------


@template
def run_kept(self: Any, F: Any, grad: Any) -> Gradients:
    """Run one formula, or two that both take the gradient, on one or two values."""
    raw = F.raw
    v0 = self.kept0
    if v0 is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    v1: Any = None
    if second_first:
        v1 = unpack_kept(self, F, 1)
    # A bare tensor, or memory, was saved at version 0: see _saved/slots.py.
    kind = type(v0)
    if kind is Tensor and raw and (v0._memory is None or not v0._memory.version):
        v0 = v0._data
    elif kind is Storage and raw and not v0.version:
        v0 = v0.owner
    elif kind is Tensor or kind is SavedTensor or kind is Storage:
        v0 = unpack_kept(self, F, 0)
    if two_kept and not second_first:
        v1 = self.kept1
        kind = type(v1)
        if kind is Tensor and raw and (v1._memory is None or not v1._memory.version):
            v1 = v1._data
        elif kind is Tensor or kind is SavedTensor or v1 is FREED:
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


@template
def both_formulas(F: Any, grad: Any, v0: Any, v1: Any) -> Gradients:
    """Call two formulas, of which the last may write over the gradient."""
    if crossed:
        other = f1(F.keeping, grad, v0)
        return f0(F, grad, v1), other
    other = f1(F.keeping, grad, v0, v1)
    return f0(F, grad, v0, v1), other


@template
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


@template
def run_formulas(self: Any, F: Any, grad: Any) -> Gradients:
    """Run formulas, each for one next function or for several at once."""
    nodes = self.nodes
    if hands_on_alone:
        return tuple(
            [grad if only or nodes[at] is not None else None for at in hands_on_alone]
        )
    raw = F.raw
    call = mode.now.run if raw else plain_call
    values: list[Any] = []
    if slots:
        saved = self.saved
        if saved is None:
            raise RuntimeError(BACKWARD_TWICE)
        values = [*saved]
        for at in slots:
            entry = values[at]
            if type(entry) is SavedTensor:
                tensor: Any = entry.tensor
                memory = entry.memory
                if memory is None:
                    memory = tensor._memory
                if raw and (memory is None or memory.version == entry.version):
                    values[at] = entry.held if tensor is None else tensor._data
                else:
                    values[at] = F.unpack(self, entry)
    if reads:
        values += self.params
    if asks_needs:
        values.append(tuple([node is not None for node in nodes]))
    # The gradient goes on: no other formula may write over it.
    space = F.keeping if several_formulas else F
    if singles:
        return tuple(
            [
                (
                    grad
                    if hands_on
                    else call(formula, space, grad, *[values[n] for n in picks])
                )
                if only or nodes[at] is not None
                else None
                for formula, at, picks, hands_on in singles
            ]
        )
    gradients: list[Any] = [None] * edge_count
    for formula, joint, edges, picks in plan:
        if listed or any(nodes[at] is not None for _, at in edges):
            found = call(formula, space, grad, *[values[n] for n in picks])
            for part, at in edges:
                if listed or nodes[at] is not None:
                    gradients[at] = found[part] if joint else found
    if not listed:
        return tuple(gradients)
    # Nodes of an op that takes a sequence differ in their edges.
    several = len(nodes) - edge_count + 1
    gradients[all_at : all_at + 1] = gradients[all_at] or [None] * several
    return tuple(
        [
            each if node is not None else None
            for each, node in zip(gradients, nodes, strict=True)
        ]
    )


# ---- binding -----------------------------------------------------------------------


def bind_run(op: Op) -> Callable[..., Gradients]:
    """Return the ``run`` method of the op's node type."""
    formulas = op.formulas
    if not formulas:
        return Node.run
    if _is_kept(op):
        return _bind_kept(op)
    picks = {pick for formula in formulas for pick in formula.picks}
    edges = range(len(op.edges))
    joined = op.listed is not None or [f.edges for f in formulas] != [
        (e,) for e in edges
    ]
    facts: dict[str, Any] = {
        "slots": saving_order(op) or tuple(range(len(op.saves))),
        "reads": any(pick >= len(op.saves) or pick == -1 for pick in picks),
        "asks_needs": -1 in picks,
        "several_formulas": len(formulas) > 1,
        "only": len(edges) == 1,
        "singles": ()
        if joined or any(f.joint for f in formulas)
        else tuple([(f.function, *f.edges, f.picks, f.hands_on) for f in formulas]),
        "hands_on_alone": ()
        if joined or not all(f.hands_on for f in formulas)
        else tuple(edges),
        "plan": tuple(
            [
                (f.function, f.joint, tuple(enumerate(f.edges)), f.picks)
                for f in formulas
            ]
        ),
        "edge_count": len(edges),
        "listed": op.listed is not None,
        "all_at": op.listed,
    }
    return specialised(run_formulas, op.name, facts)


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
    facts["both"] = specialised(both_formulas, op.name, facts)
    facts["twice"] = bound(one_formula_twice, op.name, facts)
    return specialised(run_kept, op.name, facts)


def _taking_all(formula: Formula, count: int) -> Callable[..., Any]:
    """Return a formula as a function of all that is saved."""
    if formula.picks == tuple(range(count)):
        return formula.function
    taking = _TAKING[formula.picks]
    return bound(taking, formula.function.__name__, {"f0": formula.function})


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
