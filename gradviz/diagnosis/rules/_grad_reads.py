"""Tensors that are no leaves and whose ``.grad`` was read as None: why they are not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gradviz.dependence.nesting import last_call_in, modules_around
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.rules._bindings import put_away_by
from gradviz.diagnosis.rules._gradients import gradient_reads
from gradviz.diagnosis.rules._lifetime import (
    CONVERSIONS,
    made_at,
    none_ended_run,
    passes_through,
    rebound,
)
from gradviz.program import (
    SWITCHES,
    Call,
    History,
    HookRegistered,
    Node,
    RawSite,
    Value,
)

Why = Literal["rebound", "converted", "intermediate"]


@dataclass(frozen=True, slots=True)
class NoneRead:
    """``value.grad`` was None although a backward pass had come by."""

    why: Why
    read: Call
    value: Value
    node: Node
    leaf: int | None  # the leaf it was made from, where there is one only
    made: RawSite | None  # the line that made the tensor, or named it
    explains: bool  # the None ended the run
    line: int | None = None  # of ``made``, where only the source shows it
    hooked: RawSite | None = None  # the line of a hook that put it away
    asked: RawSite | None = None  # the line that made the leaf ask for gradients


def none_reads(history: History) -> list[NoneRead]:
    """Return the reads of ``.grad`` that gave None for want of a leaf."""
    return list(_none_reads(history))


def _none_reads(history: History) -> Iterator[NoneRead]:
    reads = gradient_reads(history)
    empty = [call for call in reads if call.result is None and not call.outputs]
    for call in empty:
        value = call.inputs[0]
        node = history.node(value.node)
        kept = any(each.op == "retain_grad" for each in history.uses(value.tensor))
        if value.is_leaf or node is None or kept:
            continue
        passes = passes_through(history, node.key)
        passed = bool(passes) and passes[0].index < call.index
        last = call is empty[-1] and none_ended_run(history)
        if passed or last:
            why = _why(history, value, node, call)
            leaves = history.leaves_of(value)
            leaf = next(iter(leaves)) if len(leaves) == 1 else None
            named = hooked = line = None
            if why != "converted":  # then the conversion is the line to change
                named = _named_at(history, call, node)
                hooked = None if named else _hooked_at(history, node)
                line = None if named or hooked else _kept_at(history, call)
            made = named or node.site
            asked = [None, *(each.site for each in _births(history, value))][-1]
            yield NoneRead(
                why, call, value, node, leaf, made, last, line, hooked, asked
            )


def _named_at(history: History, read: Call, node: Node) -> RawSite | None:
    """Return the line that gave the tensor it made the name by which it is read.

    ``h.grad`` is about ``h = encoder(x)``, wherever in the encoder it was computed.
    """
    maker = history.maker(node)
    subject = subject_of(history, read)
    attribute = "." + subject.rpartition(".")[2]
    for site in () if maker is None else maker.frames:
        for target in history.places.targets(site):
            mine = site[0] is (read.site or site)[0]
            if (mine and target == subject) or target.endswith(attribute):
                return site
    return None


def _hooked_at(history: History, node: Node) -> RawSite | None:
    """Return the line of a forward hook that puts away what its module gave."""
    made = history.maker(node)
    if made is None:
        return None
    gave = {
        each.module
        for each in modules_around(history, made.module)
        if last_call_in(history, each) is made
    }
    for hook in history.of(HookRegistered):
        stored = put_away_by(history, hook) if hook.target in gave else None
        if stored is not None and hook.code is not None:
            return history.places.at_line(hook.code, stored.lineno)
    return None


def _kept_at(history: History, read: Call) -> int | None:
    """Return the only line that puts a tensor where it is read from.

    That is any ``.maps`` for ``self.maps.grad``, any item for ``maps["conv"].grad``.
    """
    subject = subject_of(history, read)
    if not set(".[") & set(subject):
        return None
    lines = [
        each.lineno
        for each in history.places.in_file(read.site)
        if isinstance(each, ast.Assign)
        and not isinstance(each.value, ast.Constant)
        and any(_place(ast.unparse(to)) == _place(subject) for to in each.targets)
    ]
    return lines[0] if len(lines) == 1 else None


def _place(name: str) -> tuple[str, ...]:
    container, item, _ = name.partition("[")
    return *container.rpartition(".")[1:], item


def subject_of(history: History, read: Call) -> str:
    """Return ``h`` of ``h.grad``."""
    return history.text(read.site).removesuffix(".grad")


_NEAR = 8  # tensors of an update: a rate times a gradient, perhaps with momentum


def _why(history: History, value: Value, node: Node, read: Call) -> Why:
    if _is_converted(history, value, node) or _is_lost(history, value, node, read):
        return "converted"
    if rebound(history, node.site) or _is_update(history, value):
        return "rebound"
    return "intermediate"


def _is_update(history: History, value: Value) -> bool:
    """Tell whether a tensor was computed from a gradient, a step or two before."""
    waiting, seen = [value.tensor], set[int]()
    while waiting and len(seen) < _NEAR:
        tensor = waiting.pop(0)
        call = history.producer(tensor)
        if tensor in seen or call is None:
            continue
        seen.add(tensor)
        if call.op == "grad.get":
            return True
        waiting += [each.tensor for each in call.inputs if each.node != value.node]
    return False


def _is_converted(history: History, value: Value, node: Node) -> bool:
    """Tell whether a tensor is a leaf after a change of its form that hid the leaf.

    That is ``x.to(…)`` of a leaf, or anything done to a leaf in the very expression
    that created it or asked it for gradients, so that no name is left for it.
    """
    maker = history.maker(node)
    below = [history.node(edge[0]) for edge in node.next if edge is not None]
    on_leaf = all(each is None or each.leaf is not None for each in below)
    converts = maker is not None and maker.op in CONVERSIONS
    if on_leaf and (converts or node.name.startswith("ToCopy")):
        return True
    made = made_at(history, value)
    return any(same_line(each.site, made) for each in _births(history, value))


def _births(history: History, value: Value) -> Iterator[Call]:
    """Yield what created the only leaf behind a tensor, and what made it one."""
    leaves = history.leaves_of(value)
    if len(leaves) == 1:
        leaf = leaves.pop()
        born = history.producer(leaf)
        if born is not None:
            yield born
        yield from (e for e in history.uses(leaf) if e.op in SWITCHES)


def _is_lost(history: History, value: Value, node: Node, read: Call) -> bool:
    """Tell whether the leaf behind a tensor was a name of a call that has returned.

    A helper made both and gave back what it had computed from the leaf.
    """
    maker, births = history.maker(node), list(_births(history, value))
    if maker is None or maker.site is None or not births:
        return False
    born, helper = births[0], maker.site[0]
    inside = born.site is not None and born.site[0] is helper
    callers = [each[0] for each in read.frames]
    is_parameter = any(
        each.is_parameter for call in births for each in (*call.inputs, *call.outputs)
    )
    together = inside and born.stack == maker.stack
    return together and not is_parameter and helper not in callers
