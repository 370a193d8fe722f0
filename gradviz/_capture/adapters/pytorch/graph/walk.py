"""Looks once at a finished graph of PyTorch and keeps no tensor and no node of it.

What only live objects can tell is taken in one cheap pass, as columns of plain values;
rows are made of it when someone wants to see them.
"""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from gradviz._capture.adapters.pytorch.graph.anomaly_stacks import users_lines
from gradviz._capture.adapters.pytorch.graph.columns import GraphColumns, Result
from gradviz._capture.adapters.pytorch.graph.folding import folded_graph
from gradviz._capture.adapters.pytorch.graph.node_classes import (
    NodeClass,
    class_of,
    is_shared,
)
from gradviz._capture.adapters.pytorch.saved_attributes import (
    hook_name,
    is_hooked,
    unpacks,
)
from gradviz._capture.names.hooks import hooks_in, hooks_of
from gradviz._capture.recorder import fold
from gradviz._capture.recorder.fold import Folded

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_OUTPUTS = ("_saved_result", "_saved_output")  # slots that hold what the node gave
_NO_EDGE = (-1, 0)
_KNOWN: Sequence[Result] = (((), None, None),)  # of one output, whose tensor is known


def read_columns(
    roots: list[Any], named: Iterable[tuple[str | None, Any]] = ()
) -> GraphColumns:
    """Look at all nodes behind these; PyTorch's function modes are to be switched off.

    ``named`` are tensors that are at hand, with their names: of an output that no node
    saved, only its own tensor tells how it lies in memory.
    """
    reader = _GraphReader()
    if not reader.walk(roots):
        reader = _GraphReader()
        folded = folded_graph(roots)
        assert folded is not None  # the walk met too many nodes
        reader.read(roots, folded)
    for name, tensor in named:
        reader.name(tensor, name)
    return reader.done()


class _GraphReader:
    """Holds the nodes and tensors it meets, so that each stays the same object."""

    def __init__(self) -> None:
        self.columns = GraphColumns()
        self.numbers: dict[Any, int] = {}  # by node
        self._classes: dict[type, NodeClass] = {}
        self._plain: dict[int, int] = {}  # tensors without a node, by id
        self._not_met_yet: dict[tuple[Any, int], int] = {}  # made by nodes not met yet
        self._alive: list[Any] = []

    def done(self) -> GraphColumns:
        """Return the columns, and let go of the objects."""
        self._read_files()
        outputs, numbers = self.columns.outputs, self.numbers
        for (fn, output), place in self._not_met_yet.items():
            if fn in numbers:
                outputs.setdefault((numbers[fn], output), place)
        return self.columns

    def walk(self, roots: list[Any]) -> bool:
        """Read the nodes in the order in which they are found.

        Stops, and says so by False, where there are more than can be drawn.
        """
        most = fold.MOST_DRAWN
        columns, numbers, classes = self.columns, self.numbers, self._classes
        columns.roots, found = len(roots), list(roots)
        edges, ends = columns.edges, columns.edge_ends
        numbers.update((fn, number) for number, fn in enumerate(found))
        for number, fn in enumerate(found):
            if number == most:
                return False
            cls = classes.get(type(fn)) or self._class_of(fn)
            columns.classes.append(cls)
            columns.sequences.append(fn._sequence_nr())
            for behind, output in fn.next_functions:
                at = numbers.get(behind)
                if at is None:
                    if behind is None:
                        edges += _NO_EDGE
                        continue
                    at = numbers[behind] = len(found)
                    found.append(behind)
                edges += (at, output)
            ends.append(len(edges))
            self._describe_node(number, fn, cls)
        return True

    def read(self, roots: list[Any], folded: Folded[Any]) -> None:
        """Read the rows of a graph that is too large to be read whole."""
        columns, rows = self.columns, folded.rows
        first = dict.fromkeys(roots)
        found = [*first, *(fn for fn in rows if fn not in first)]
        self.numbers.update((fn, number) for number, fn in enumerate(found))
        columns.roots, columns.folded = len(roots), folded.note
        behind = {fn: folded.behind[row] for row, fn in enumerate(rows)}
        sizes = {rows[row]: count for row, count in folded.counts.items()}
        for number, fn in enumerate(found):
            edges = [
                (None, 0) if at is None else (rows[at[0]], at[1]) for at in behind[fn]
            ]
            self._node(number, fn, edges)
            if fn in sizes:
                columns.counts[number] = sizes[fn]

    def _node(self, number: int, fn: Any, behind: Iterable[tuple[Any, int]]) -> None:
        """Read a node; all that is behind it has a number."""
        columns = self.columns
        cls = self._classes.get(type(fn)) or self._class_of(fn)
        columns.classes.append(cls)
        columns.sequences.append(fn._sequence_nr())
        for producer, output in behind:
            at = _NO_EDGE if producer is None else (self.numbers[producer], output)
            columns.edges += at
        columns.edge_ends.append(len(columns.edges))
        self._describe_node(number, fn, cls)

    def _describe_node(self, number: int, fn: Any, cls: NodeClass) -> None:
        """Look at what a node saved and gave."""
        columns = self.columns
        if cls.slots:
            self._saved(number, fn, cls)
        elif cls.leaf:
            self._leaf(number, fn)
        elif cls.view is not None:
            columns.views[number] = tuple([getattr(fn, slot) for slot in cls.view])
        columns.saved_ends.append(len(columns.saved))
        columns.results.append(_KNOWN if cls.leaf else self._results(number, fn))
        if fn.metadata and (stack := fn.metadata.get("traceback_")) is not None:
            columns.stacks[number] = stack

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
                self.columns.hooks[number] = hooks
        if name is not None:
            self.columns.names.setdefault(place, name)

    def _read_files(self) -> None:
        """Read the files that rows will quote: the user may edit them before that."""
        hooks = [hook.code for each in self.columns.hooks.values() for hook in each]
        files = {code.co_filename for code in hooks if code is not None}
        for stack in self.columns.stacks.values():
            files.update(file for file, _, _ in users_lines(stack))
        self.columns.files = {file: linecache.getlines(file) for file in files}

    # ---- nodes ---------------------------------------------------------------------

    def _class_of(self, fn: Any) -> NodeClass:
        cls = class_of(fn)
        if is_shared(fn):
            self._classes[type(fn)] = cls
        return cls

    def _leaf(self, number: int, fn: Any) -> None:
        tensor, columns = fn.variable, self.columns
        columns.outputs[number, 0] = self._tensor(tensor)
        columns.leaves[id(tensor)] = weakref.ref(tensor), number
        if tensor._backward_hooks or tensor._post_accumulate_grad_hooks:
            columns.hooks[number] = hooks_of(tensor)

    def _results(self, number: int, fn: Any) -> Sequence[Result]:
        """Return what a node remembers of its outputs."""
        try:
            found = fn._input_metadata
            if len(found) == 1:
                if (number, 0) in self.columns.outputs:
                    return _KNOWN
                each = found[0]
                return ((tuple(each.shape), each.dtype, each.device),)
            return [(tuple(each.shape), each.dtype, each.device) for each in found]
        except RuntimeError:  # nested tensors have no shape
            return ()

    # ---- what is saved -------------------------------------------------------------

    def _saved(self, number: int, fn: Any, cls: NodeClass) -> None:
        saved = self.columns.saved
        for slot, raw_slot in cls.slots:
            raw = None
            try:
                raw = getattr(fn, raw_slot)
                if type(raw) is tuple:
                    hooked = is_hooked(raw)
                else:
                    hooked = raw.unpack_hook is not None
                if hooked:  # unpacking would run the user's hook
                    self._hooked(number, slot, raw)
                    continue
                found = getattr(fn, slot)
            except RuntimeError as error:
                versions = _VERSIONS.search(str(error))
                if versions is None:
                    self.columns.freed.add(number)
                    break
                now, expected = int(versions[1]), int(versions[2])
                self._overwritten(number, slot, raw, expected, now)
                continue
            if type(raw) is not tuple:
                if found is not None:
                    saved += (slot, self._tensor(found))
                continue
            for at, each in enumerate(found):
                if each is not None:
                    saved += (f"{slot}[{at}]", self._tensor(each))

    def _hooked(self, number: int, slot: str, raw: Any) -> None:
        """Describe what a hook packed, as far as it is a tensor still."""
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            if each.unpack_hook is not None:
                self.columns.packed[number, slot, at] = hook_name(each)
            if hasattr(each.data, "untyped_storage"):
                place, version = self._tensor(each.data), _version(each.data)
                name = f"{slot}[{at}]" if several else slot
                self.columns.saved += (name, place)
                kept = name, place, version, version, True
                self.columns.odd[number, name] = kept

    def _overwritten(
        self, number: int, slot: str, raw: Any, expected: int, now: int
    ) -> None:
        """Describe a saved tensor that can no longer be unpacked, as it was."""
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            if each.data is None or unpacks(each, now):
                continue
            place = self._describe(each.data, each.data.is_leaf, expected)
            if slot in _OUTPUTS:  # the node keeps it detached, to be in no cycle
                self.columns.outputs.setdefault((number, 0), place)
            name = f"{slot}[{at}]" if several else slot
            self.columns.saved += (name, place)
            self.columns.odd[number, name] = name, place, expected, now, False
            return

    # ---- tensors -------------------------------------------------------------------

    def _tensor(self, tensor: Any) -> int:
        """Return the place of a tensor; an output is another object at each look."""
        fn = tensor.grad_fn
        if fn is None:
            place = self._plain.get(id(tensor))
            if place is None:
                self._alive.append(tensor)
                place = self._plain[id(tensor)] = self._describe(tensor, True)
            return place
        number, output = self.numbers.get(fn, -1), tensor.output_nr
        place = self.columns.outputs.get((number, output))
        if place is None:
            place = self._not_met_yet.get((fn, output))
            if place is None:
                place = self._describe(tensor, False)
            if number < 0:
                self._not_met_yet[fn, output] = place
            else:
                self.columns.outputs[number, output] = place
        return place

    def _describe(self, tensor: Any, leaf: bool, version: int = -1) -> int:
        columns = self.columns
        shape, strides, offset, key = (), (), 0, 0
        if version < 0:
            version = _version(tensor)
        try:
            shape = tensor.shape
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key not in columns.storages:
                columns.storages[key] = storage.nbytes(), tensor.element_size()
            strides, offset = tensor.stride(), tensor.storage_offset()
        except (RuntimeError, NotImplementedError):
            pass  # nested, sparse, or wrapped by functorch: what was read stays
        needs, view = not leaf or tensor.requires_grad, tensor._is_view()
        dtype, device = tensor.dtype, tensor.device
        columns.tensors.append(
            (shape, strides, offset, dtype, device, key, version, needs, leaf, view)
        )
        return len(columns.tensors) - 1


def _version(tensor: Any) -> int:
    try:
        return tensor._version
    except RuntimeError:  # of inference mode
        return 0
