"""What only a picture of the graph needs: each op with its node, hooks that ran."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

from gradtape._debug import CopySlices, Node, Tensor, events
from gradtape.nn.parameter import Parameter
from gradviz._capture.adapters.gradtape.call_arguments import ATOMS
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.op_facts import (
    device_behind,
    hooks_of,
    name_of,
    shown_name,
    tensors_in,
)
from gradviz._capture.adapters.gradtape.saved_attributes import slots_of
from gradviz._capture.names.hooks import Hook, is_of_module
from gradviz._capture.recorder.engine import Inside
from gradviz.program.noted import Glance

Made: TypeAlias = tuple[Any, ...]
"""Name, kind, op, options, code of a user's backward, how many inputs, then glances at
inputs and outputs: flat, for the collector's sake."""

_MOST = 50_000  # ops that are remembered where no pass comes

_KEPT_PASSES = 8  # whose ops are remembered, beside those since


class Details:
    """Notes the op behind each node while it runs, in short."""

    def __init__(self, log: GradtapeContext) -> None:
        self._log = log
        self.on = False
        self.made: dict[int, Made] = {}  # by the key of the node
        self.nodes: dict[int, weakref.ref[Node]] = {}  # likewise
        self.hooks: dict[int, tuple[Hook, ...]] = {}  # on nodes, when one ran
        self.ran: dict[int, list[Inside]] = {}  # by index of passes
        self.kept = _KEPT_PASSES
        self.reading = False  # then nothing is forgotten
        self._marks: list[tuple[int, int]] = []  # last key and index of latest passes

    def op(self, event: events.OpCalled) -> None:
        """Note an op that made a node."""
        node, runs = event.node, self._log.passes.runs
        if runs is not None:
            key = None if node is None else node.seq + 1
            found = Inside(runs.count, "op", key, shown_name(event.name))
            self.ran.setdefault(self._log.passes.index, []).append(found)
        if node is None:
            return
        log, look = self._log, self._log.reader.look
        results: list[Glance] = []
        met: dict[int, Glance] = {}
        for each in event.outputs:
            glance = met[id(each._data)] = look(each)
            results.append(glance)
        inner = node
        if event.outputs:
            base = _base_of(event.outputs[0])
            if base is not None and type(base._grad_fn) is CopySlices:
                outer = base._grad_fn
                if outer.inner is node:  # which is what entered the graph
                    node = outer
                    results[0] = met[id(base._data)] = look(base)
        inputs: list[Glance] = []
        for each in event.inputs:
            kind = type(each)
            if kind is Tensor or kind is Parameter:
                inputs.append(look(each))
            elif kind not in ATOMS:
                inputs += [look(tensor) for tensor in tensors_in((each,))]
        key = node.seq + 1
        self.nodes[key] = weakref.ref(node)
        self._add(key, node, inner, event.name, inputs, results)
        if node.foreign:
            log.reader.row(node, slots_of(node), met)
            for each in node.nodes:
                if each is not None and each.accumulates and not each.dead:
                    log.reader.leaf(each)
        else:
            log.passes.ahead.note(node, key, met)

    def earlier(self, node: Node, key: int) -> None:
        """Note what a node still tells that was made before anybody listened."""
        if key in self.made or node.accumulates:
            return
        inner: Node = getattr(node, "inner", node)
        device = device_behind(inner)
        results: list[Glance] = []
        for number, layout in enumerate(node.layouts):
            if not layout:
                break
            item, name = layout.dtype.itemsize, name_of(layout.dtype)
            strides = tuple([step // item for step in layout.strides])
            place = 0, 0, 0, layout.shape, strides, 0, name, device
            results.append((*place, True, False, False, key, number, False))
        self._add(key, node, inner, inner.op_name, (), results)

    def _add(
        self,
        key: int,
        node: Node,
        inner: Node,
        name: str,
        inputs: Sequence[Glance],
        results: Sequence[Glance],
    ) -> None:
        op, kind = getattr(type(inner), "op", None), "op"
        if name[-1] == "_" or node is not inner:
            kind = "inplace"
        elif op is None:
            kind = "custom"
        elif op.view is not None:
            kind = "view"
        code = None if op is not None else _code_of(inner)
        options = () if op is None else _plain(inner.params)
        facts = shown_name(name), kind, op, options, code, len(inputs)
        self.made[key] = *facts, *inputs, *results
        if len(self.made) > _MOST:
            for old in list(self.made)[: _MOST // 2]:
                del self.made[old]
                self.nodes.pop(old, None)

    def hook(self, event: events.HookRan, index: int, runs: int) -> None:
        """Note a hook that runs within a pass."""
        key, names = None, [event.name]
        if event.node is not None:
            key = self._log.reader.key(event.node)
            found = self.hooks[key] = hooks_of(event.node)
            if is_of_module(event.name):
                names = [hook.name for hook in found]
        found = [Inside(runs, "hook", key, name) for name in names]
        self.ran.setdefault(index, []).extend(found)

    def passed(self, index: int, last: int) -> None:
        """Forget what lies far back: nobody is shown more than the last passes."""
        self._marks.append((last, index))
        while len(self._marks) > self.kept and not self.reading:
            oldest, at = self._marks.pop(0)
            _forget(self.made, oldest)
            _forget(self.nodes, oldest)
            _forget(self.hooks, oldest)
            _forget(self.ran, at)


def _forget(table: dict[int, Any], last: int) -> None:
    """Drop what has numbers up to one; they come in order, leaves' among them."""
    old: list[int] = []
    for key in table:
        if key > last:
            break
        old.append(key)
    for key in old:
        del table[key]


def _base_of(tensor: Tensor) -> Tensor | None:
    view = tensor._view
    return None if view is None else view.base


def _code_of(node: Node) -> Any:
    forward: Any = getattr(type(node), "_forward_cls", None)
    return getattr(getattr(forward, "backward", None), "__code__", None)


def _plain(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return options without what would keep memory alive."""
    if ATOMS.issuperset(map(type, params)):
        return params
    return tuple([_in_short(each) for each in params])


class _Text(str):
    """The text of an option, written as it is."""

    def __repr__(self) -> str:
        return str(self)


def _in_short(value: Any) -> Any:
    if type(value) in ATOMS:
        return value
    if type(value) is tuple and ATOMS.issuperset(map(type, value)):
        return value
    try:
        return _Text(repr(value))
    except Exception:
        return _Text(f"<{type(value).__name__}>")
