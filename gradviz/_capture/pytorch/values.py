"""Describe PyTorch tensors: who they are, where they live, what is in them."""

from __future__ import annotations

import weakref
from typing import Any

from gradviz._capture.pytorch.facts import plain, shape_of
from gradviz._capture.pytorch.slots import NO_SEQUENCE
from gradviz._capture.pytorch.summary import statistics, summarize
from gradviz._capture.pytorch.views import numbers
from gradviz.program.log import MAX_EVENTS, MOST_WITHOUT_VALUES, Identities, Log
from gradviz.program.noted import Glance
from gradviz.program.values import Summary, Value

_MOST_SHAPES = 250  # that are shared
_GLANCE = 2  # where rows of the table of tensors keep the last glance
_LENT = 3  # longer rows are of results whose storage nobody has looked at

STORAGE, VERSION, NEEDS, NODE = 1, 2, 8, 11
IS_LEAF, IS_VIEW, _SUMMARY = 9, 10, 14
"""Places of fields in a glance; output comes after node, a summary may be missing."""

_PLAIN = (int, float, bool, str, complex, type(None), type(Ellipsis), slice)
_LONGEST = 64  # elements kept of a list among the arguments, characters times ten


class TorchValues:
    """Turns tensors into values; a description is shared while it holds."""

    def __init__(self, torch: Any, log: Log, scan: bool) -> None:
        self.torch = torch
        self.log = log
        self.scan = scan
        self.storages = Identities()
        self.detailed = False  # a graph is recorded too
        self.sizes: dict[int, tuple[int, int]] = {}  # storage -> bytes, of an element
        self.loose: set[int] = set()  # storages that change behind their version
        self._outputs: dict[int, Glance] = {}  # by output_key()
        # Outputs that nobody has asked for yet, or the notes of runs that have some.
        self._fresh: list[tuple[Any, ...]] = []
        self._tensors = log.tensors
        self._rows = log.tensors.rows  # by id: reference, number, the last glance
        self._most = MAX_EVENTS if scan else MOST_WITHOUT_VALUES
        self._sizes_room = 2 * self._most
        self._sizes: dict[Any, Any] = {}  # shapes, strides and sizes that are shared
        self._words: dict[Any, str] = {}  # dtypes and devices
        self._tensor = torch.Tensor
        self._number = log.tensors.of
        self._parameter = torch.nn.Parameter

    # ---- tensors ------------------------------------------------------------------

    def of(self, tensor: Any, number: int | None = None) -> Value:
        """Describe a tensor as it is now; ``number`` is given where it has another."""
        return self.log.program.value(self.look(tensor, number))

    def result(self, tensor: Any) -> Value:
        """Describe what a call or a pass returned."""
        return self.log.program.value(self.made(tensor))

    def output(self, node: int, number: int) -> Value | None:
        """Return an output of a node as it was last seen."""
        glance = self.outputs.get(output_key(node, number))
        return None if glance is None else self.log.program.value(glance)

    @property
    def outputs(self) -> dict[int, Glance]:
        """The outputs of nodes as they were last seen, by :func:`output_key`."""
        outputs, fresh = self._outputs, self._fresh
        for each in fresh:
            for glance in each[2].outputs(each) if each[0] == "run" else (each,):
                outputs[output_key(glance[NODE], glance[NODE + 1])] = glance
        fresh.clear()
        if len(outputs) > self._most:
            for key in list(outputs)[: self._most // 2]:
                del outputs[key]
        return outputs

    def look(self, tensor: Any, number: int | None = None) -> Glance:
        """Return a tensor as it is now in short, the last glance where that holds."""
        row = self._rows.get(id(tensor))
        if row is not None and len(row) > _GLANCE and row[0]() is tensor:
            known = row[_GLANCE]
            if len(row) > _LENT:
                self._settle(tensor, row)
            try:
                version = tensor._version
            except RuntimeError:  # of inference mode
                version = 0
            if known[NEEDS] is tensor.requires_grad and not (
                self.loose and known[STORAGE] in self.loose
            ):
                if known[VERSION] == version:
                    return known
                if known[IS_LEAF] and not known[IS_VIEW] and not self.scan:
                    # An optimizer wrote to a leaf: nothing else has changed.
                    renewed = _renewed(known, version)
                    self._rows[id(tensor)] = row[0], row[1], renewed
                    return renewed
        version = version_of(tensor)
        if number is not None:
            return self._describe(tensor, number, version)
        number = self._number(tensor)
        glance = self._describe(tensor, number, version)
        self._rows[id(tensor)] = weakref.ref(tensor), number, glance
        return glance

    def made(self, tensor: Any, scan: bool = True, node: int | None = None) -> Glance:
        """Look at what a call returned anew: an in-place op gives it another node.

        ``node`` is given for a view that was written to: PyTorch makes its ``grad_fn``
        when first asked, which is not for us to do.
        """
        try:
            version = tensor._version
        except RuntimeError:  # of inference mode
            version = 0
        rows, tensors, key = self._rows, self._tensors, id(tensor)
        row = rows.get(key)
        if row is not None and row[0]() is tensor:
            reference, number = row[0], row[1]
        else:
            tensors.count = number = tensors.count + 1
            reference = weakref.ref(tensor)
        glance = self._describe(tensor, number, version, scan, node)
        rows[key] = reference, number, glance
        self._keep(None if glance[NODE] is None else glance)
        return glance

    def _keep(self, output: tuple[Any, ...] | None) -> None:
        """Make room in the tables for new results; keep what their nodes gave."""
        if len(self._rows) > self._tensors.room:
            self._tensors.prune()
        if output is not None:
            fresh = self._fresh
            fresh.append(output)
            if len(fresh) > self._most:
                del fresh[: self._most // 2]

    def lend(self, tensor: Any, glance: Glance, run: tuple[Any, ...]) -> None:
        """Know what a run gave by this description.

        Its storage has a number but is looked at only when the tensor is met again.
        """
        self._rows[id(tensor)] = weakref.ref(tensor), glance[0], glance, True
        self._keep(run)

    def _settle(self, tensor: Any, row: tuple[Any, ...]) -> None:
        """Give a storage the number that was set aside for it."""
        self._rows[id(tensor)] = row[:_LENT]
        self.storages.give(tensor.untyped_storage(), row[_GLANCE][STORAGE])

    def unseen(self, metadata: Any, node: int, output: int) -> Value:
        """Describe a result that nobody saw from what its node knows of it."""
        return Value(
            0,
            0,
            0,
            shape_of(metadata) or (),
            (),
            0,
            self._word(metadata.dtype),
            self._word(metadata.device),
            True,
            False,
            False,
            node,
            output,
        )

    def forget(self, tensor: Any) -> None:
        """Describe this tensor anew when it is met again."""
        row = self._rows.get(id(tensor))
        if row is not None and row[0]() is tensor:
            self._rows[id(tensor)] = row[:_GLANCE]

    def _forget_sizes(self) -> None:
        """Forget storages of long ago, but for those of living tensors."""
        rows = list(self._rows.values())
        living = {row[_GLANCE][STORAGE] for row in rows if len(row) > _GLANCE}
        for number in list(self.sizes)[: -self._most]:
            if number not in living:
                del self.sizes[number]
        self._sizes_room = max(2 * self._most, 2 * len(self.sizes))

    def part(self, part: Any, whole: Glance) -> Glance:
        """Look at some elements of a tensor, under that tensor's number."""
        found = self._describe(part, whole[0], whole[VERSION])
        place, graph = found[:NEEDS], whole[NEEDS : IS_LEAF + 1]
        return *place, *graph, found[IS_VIEW], *whole[NODE : NODE + 2], *found[13:]

    def _describe(
        self,
        tensor: Any,
        key: int,
        version: int,
        scan: bool = True,
        node: int | None = None,
    ) -> Glance:
        words, sizes, cls = self._words, self._sizes, type(tensor)
        output = number = offset = 0
        strides, storage = (), None
        try:
            if node is None and (grad_fn := tensor.grad_fn) is not None:
                sequence, output = grad_fn._sequence_nr(), tensor.output_nr
                leaf = sequence == NO_SEQUENCE
                node = self.node_key(grad_fn) if leaf else sequence + 1
        except RuntimeError:  # a view that is no longer valid
            node, output = None, 0
        try:
            shape = sizes.get(size := tensor.shape) or self._shared(tuple(size))
        except (RuntimeError, TypeError):  # a lazy module's parameter, or an open size
            shape = numbers(shape_of(tensor) or ())
        try:
            storage = tensor.untyped_storage()
            number = self.storages.of(storage)
            strides = sizes.get(size := tensor.stride()) or self._shared(size)
            offset = tensor.storage_offset()
        except (RuntimeError, NotImplementedError, TypeError):
            scan = False  # sparse, or wrapped by functorch
        dtype, device = tensor.dtype, tensor.device
        glance: Glance = (
            key,
            number,
            version,
            shape,
            strides,
            offset,
            words.get(dtype) or self._word(dtype),
            words.get(device) or self._word(device),
            tensor.requires_grad,
            node is None,
            tensor._is_view(),
            node,
            output,
            cls is not self._tensor and isinstance(tensor, self._parameter),
        )
        if self.detailed and storage is not None:
            size = numbers((storage.nbytes(), tensor.element_size()))
            self.sizes[number] = self._shared(size)
            if len(self.sizes) > self._sizes_room:
                self._forget_sizes()
        if self.scan and scan:
            full = self.detailed and tensor.requires_grad
            glance += summarize(self.torch, tensor, full)
        return glance

    def complete(self, met: list[tuple[Any, Glance]]) -> None:
        """Take the full statistics of what a call reads that is differentiated.

        Data on its way to a model is prepared in many calls that no graph shows.
        """
        if not any(glance[NEEDS] for _, glance in met):
            return
        for tensor, glance in met:
            summary = glance[_SUMMARY] if len(glance) > _SUMMARY else None
            if summary is not None and summary.full is None:
                summary.full = statistics(self.torch, tensor)

    def _shared(self, sizes: Any) -> Any:
        if len(self._sizes) > _MOST_SHAPES:
            self._sizes.clear()
        return self._sizes.setdefault(sizes, sizes)

    def _word(self, thing: Any) -> str:
        word = self._words[thing] = str(thing).removeprefix("torch.")
        return word

    def summary(self, tensor: Any) -> Summary | None:
        """Summarize a gradient."""
        return summarize(self.torch, tensor, self.detailed)[0]

    def node_key(self, fn: Any) -> int:
        """Return the number of a node: its place in the sequence, or of its leaf."""
        sequence = fn._sequence_nr()
        if sequence != NO_SEQUENCE:
            return sequence + 1
        variable = getattr(fn, "variable", None)
        return 0 if variable is None else -self.log.tensor(variable)

    # ---- arguments ----------------------------------------------------------------

    def argument(self, thing: Any, met: list[tuple[Any, Glance]]) -> Any:
        """Describe an argument; the tensors in it are added to ``met``."""
        if isinstance(thing, _PLAIN):
            return thing[: _LONGEST * 10] if isinstance(thing, str) else thing
        if isinstance(thing, self._tensor):
            glance = self.look(thing)
            met.append((thing, glance))
            return glance
        if isinstance(thing, list | tuple):
            if len(thing) > _LONGEST and not isinstance(thing[0], self.torch.Tensor):
                thing = thing[:_LONGEST]
            found = [self.argument(each, met) for each in thing]
            return found if type(thing) is list else tuple(found)  # as keys, two things
        return plain(thing, self.torch)


def _renewed(known: Glance, version: int) -> Glance:
    """Return a glance with another version; field by field, as that is fastest."""
    a, b, _, c, d, e, f, g, h, i, j, k, m, n = known
    return a, b, version, c, d, e, f, g, h, i, j, k, m, n


def output_key(node: int, number: int) -> int:
    """Return one number for an output of a node."""
    return node << 32 | number


def grad_fn_of(tensor: Any) -> Any:
    """Return the node of a tensor; None also for a view that is no longer valid."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def version_of(tensor: Any) -> int:
    """Return the version of a tensor, 0 where there is none.

    Tensors of inference mode have none, and None, which a hook may get as a gradient.
    """
    try:
        return tensor._version
    except (AttributeError, RuntimeError):
        return 0
