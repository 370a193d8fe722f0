"""Looks once at a finished graph of PyTorch and keeps no tensor and no node of it.

What only live objects can tell is taken in one cheap pass, as columns of plain values;
rows are made of it when someone wants to see them.
"""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gradviz._capture._hooks import Hook, hooks_in, hooks_of
from gradviz._capture._torch_node_classes import NodeClass, class_of, is_shared
from gradviz._capture._torch_slots import hook_name, is_hooked, unpacks
from gradviz._capture._torch_stacks import users_lines

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_SEVERAL = frozenset({tuple, list})
_OUTPUTS = ("_saved_result", "_saved_output")  # slots that hold what the node gave


# Plain tuples: making a million of them is to be cheap.

Result: TypeAlias = tuple[tuple[int, ...], Any, Any]
"""What a node remembers of an output: shape, dtype, device."""

Facts: TypeAlias = tuple[
    Any, tuple[int, ...], int, Any, Any, int, int, bool, bool, bool
]
"""One tensor as it is now: shape, strides, offset, dtype, device (PyTorch's objects),
address of its storage (0: none), version, requires_grad, is_leaf, is_view."""

Kept: TypeAlias = tuple[str, int, int, int, bool]
"""A tensor that a node saved: slot, place among the look's tensors, version when it was
saved, version now, whether a hook packed it."""

Edge: TypeAlias = tuple[int, int] | None
"""The place of the node that made an input, and which of its outputs that is."""

NodeFacts: TypeAlias = tuple[
    NodeClass, int, Sequence[Edge], Sequence[Result], Sequence[Kept]
]
"""One node: its class, sequence number, inputs, outputs, and what it saved."""


@dataclass(slots=True)
class Look:
    """What was seen; a node is known by its place, roots first."""

    roots: int = 0  # how many nodes are roots
    nodes: list[NodeFacts] = field(default_factory=list[NodeFacts])
    freed: set[int] = field(default_factory=set[int])
    views: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, Any])
    hooks: dict[int, tuple[Hook, ...]] = field(default_factory=dict[int, Any])
    packed: dict[tuple[int, str, int], str] = field(default_factory=dict[Any, str])
    stacks: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    files: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Lines, as they were, of files with hooks or lines of the user's."""
    tensors: list[Facts] = field(default_factory=list[Facts])
    names: dict[int, str] = field(default_factory=dict[int, str])  # of tensors
    outputs: dict[tuple[int, int], int] = field(default_factory=dict[Any, int])
    storages: dict[int, tuple[int, int]] = field(default_factory=dict[int, Any])
    """Bytes, and bytes of an element."""
    leaves: dict[int, tuple[weakref.ref[Any], int]] = field(
        default_factory=dict[int, Any]
    )
    """By id of the tensor."""


def look(roots: list[Any], named: Iterable[tuple[str | None, Any]] = ()) -> Look:
    """Look at all nodes behind these; PyTorch's function modes are to be switched off.

    ``named`` are tensors that are at hand, with their names: of an output that no node
    saved, only its own tensor tells how it lies in memory.
    """
    eyes = _Eyes()
    eyes.walk(roots)
    for name, tensor in named:
        eyes.name(tensor, name)
    return eyes.done()


class _Eyes:
    """Holds the nodes and tensors it meets, so that each stays the same object."""

    def __init__(self) -> None:
        self.seen = Look()
        self.numbers: dict[Any, int] = {}  # by node
        self._classes: dict[type, NodeClass] = {}
        self._plain: dict[int, int] = {}  # tensors without a node, by id
        self._made: dict[tuple[Any, int], int] = {}  # tensors, by node and output
        self._alive: list[Any] = []

    def done(self) -> Look:
        """Return what was seen, the objects left behind."""
        self._read_files()
        outputs, numbers = self.seen.outputs, self.numbers
        for (fn, output), tensor in self._made.items():
            if fn in numbers:
                outputs[numbers[fn], output] = tensor
        return self.seen

    def walk(self, roots: list[Any]) -> None:
        """Read the nodes in the order in which they are found."""
        seen, numbers, classes = self.seen, self.numbers, self._classes
        seen.roots = len(roots)
        found = list(roots)
        numbers.update((fn, number) for number, fn in enumerate(found))
        for number, fn in enumerate(found):
            cls = classes.get(type(fn)) or self._class_of(fn)
            edges: list[Edge] = []
            for behind, output in fn.next_functions:
                if behind is None:
                    edges.append(None)
                    continue
                at = numbers.get(behind)
                if at is None:
                    at = numbers[behind] = len(found)
                    found.append(behind)
                edges.append((at, output))
            saved = self._saved(number, fn, cls) if cls.slots else ()
            results = self._leaf(number, fn) if cls.leaf else self._results(fn)
            seen.nodes.append((cls, fn._sequence_nr(), edges, results, saved))
            if cls.view is not None:
                seen.views[number] = tuple([getattr(fn, slot) for slot in cls.view])
            stack = fn.metadata.get("traceback_")
            if stack is not None:
                seen.stacks[number] = stack

    def name(self, tensor: Any, name: str | None) -> None:
        """Meet a tensor of the user's, if it is one of the graph."""
        place = self._plain.get(id(tensor))
        if place is None:
            # A view asked for its node makes it anew once its base was written to.
            if tensor.is_leaf or (tensor._is_view() and tensor._version):
                return
            fn = tensor.grad_fn
            number = self.numbers.get(fn)
            if number is None:
                return
            place = self._tensor(tensor)
            hooks = hooks_in(tensor._backward_hooks)
            if hooks:
                self.seen.hooks[number] = hooks
        if name is not None:
            self.seen.names.setdefault(place, name)

    def _read_files(self) -> None:
        """Read the files that rows will quote: the user may edit them before that."""
        hooks = [hook.code for each in self.seen.hooks.values() for hook in each]
        files = {code.co_filename for code in hooks if code is not None}
        for stack in self.seen.stacks.values():
            files.update(file for file, _, _ in users_lines(stack))
        self.seen.files = {file: linecache.getlines(file) for file in files}

    # ---- nodes ---------------------------------------------------------------------

    def _class_of(self, fn: Any) -> NodeClass:
        cls = class_of(fn)
        if is_shared(fn):
            self._classes[type(fn)] = cls
        return cls

    def _leaf(self, number: int, fn: Any) -> Sequence[Result]:
        tensor = fn.variable
        self._made[fn, 0] = self._tensor(tensor)
        self.seen.leaves[id(tensor)] = weakref.ref(tensor), number
        if found := hooks_of(tensor):
            self.seen.hooks[number] = found
        return ((tensor.shape, tensor.dtype, tensor.device),)

    def _results(self, fn: Any) -> Sequence[Result]:
        """Return shape, dtype and device of each result, as the node remembers them."""
        try:
            found = fn._input_metadata
            if len(found) == 1:
                each = found[0]
                return ((tuple(each.shape), each.dtype, each.device),)
            return [(tuple(each.shape), each.dtype, each.device) for each in found]
        except (AttributeError, RuntimeError):  # nested tensors have no shape
            return ()

    # ---- what is saved -------------------------------------------------------------

    def _saved(self, number: int, fn: Any, cls: NodeClass) -> list[Kept]:
        rows: list[Kept] = []
        tensors = self.seen.tensors
        for slot, raw_slot in cls.slots:
            raw = None
            try:
                raw = getattr(fn, raw_slot)
                hooked = (
                    is_hooked(raw)
                    if type(raw) in _SEVERAL
                    else raw.unpack_hook is not None
                )
                if hooked:  # unpacking would run the user's hook
                    self._hooked(rows, number, slot, raw)
                    continue
                found = getattr(fn, slot)
            except RuntimeError as error:
                versions = _VERSIONS.search(str(error))
                if versions is None:
                    self.seen.freed.add(number)
                    break
                now, expected = int(versions[1]), int(versions[2])
                self._overwritten(rows, fn, slot, raw, expected, now)
                continue
            if found is None:
                continue
            several = type(found) in _SEVERAL
            if not several:
                place = self._tensor(found)
                version = tensors[place][6]  # was not written to, or had raised
                rows.append((slot, place, version, version, False))
                continue
            for at, each in enumerate(found):
                if each is not None:
                    place = self._tensor(each)
                    version = tensors[place][6]
                    rows.append((f"{slot}[{at}]", place, version, version, False))
        return rows

    def _hooked(self, rows: list[Kept], number: int, slot: str, raw: Any) -> None:
        """Describe what a hook packed, as far as it is a tensor still."""
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            if each.unpack_hook is not None:
                self.seen.packed[number, slot, at] = hook_name(each)
            if hasattr(each.data, "untyped_storage"):
                place, version = self._tensor(each.data), _version(each.data)
                name = f"{slot}[{at}]" if several else slot
                rows.append((name, place, version, version, True))

    def _overwritten(
        self, rows: list[Kept], fn: Any, slot: str, raw: Any, expected: int, now: int
    ) -> None:
        """Describe a saved tensor that can no longer be unpacked, as it was."""
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            if each.data is None or unpacks(each):
                continue
            place = self._describe(each.data, expected)
            if slot in _OUTPUTS:  # the node keeps it detached, to be in no cycle
                self._made.setdefault((fn, 0), place)
            name = f"{slot}[{at}]" if several else slot
            rows.append((name, place, expected, now, False))
            return

    # ---- tensors -------------------------------------------------------------------

    def _tensor(self, tensor: Any) -> int:
        """Return the place of a tensor; an output is another object at each look."""
        fn = tensor.grad_fn
        if fn is not None:
            key = fn, tensor.output_nr
            place = self._made.get(key)
            if place is None:
                place = self._made[key] = self._describe(tensor)
            return place
        place = self._plain.get(id(tensor))
        if place is None:
            self._alive.append(tensor)
            place = self._plain[id(tensor)] = self._describe(tensor)
        return place

    def _describe(self, tensor: Any, version: int | None = None) -> int:
        strides: tuple[int, ...] = ()
        offset = key = 0
        if version is None:
            version = _version(tensor)
        try:
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key not in self.seen.storages:
                self.seen.storages[key] = storage.nbytes(), tensor.element_size()
            strides, offset = tensor.stride(), tensor.storage_offset()
        except (RuntimeError, NotImplementedError):  # sparse, or wrapped by functorch
            pass
        tensors = self.seen.tensors
        tensors.append(
            (
                tensor.shape,
                strides,
                offset,
                tensor.dtype,
                tensor.device,
                key,
                version,
                tensor.requires_grad,
                tensor.is_leaf,
                tensor._is_view(),
            )
        )
        return len(tensors) - 1


def _version(tensor: Any) -> int:
    try:
        return tensor._version
    except RuntimeError:  # of inference mode
        return 0
