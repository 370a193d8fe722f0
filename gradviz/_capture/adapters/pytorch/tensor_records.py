"""Describe PyTorch tensors: who they are, where they live, what is in them."""

from __future__ import annotations

import weakref
from typing import Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import (
    GLANCE,
    IS_LEAF,
    IS_VIEW,
    NEEDS,
    NODE,
    STORAGE,
    VERSION,
    TensorTable,
    output_key,
    with_version,
)
from gradviz._capture.adapters.pytorch.op_facts import plain, shape_of
from gradviz._capture.adapters.pytorch.saved_attributes import NO_SEQUENCE
from gradviz._capture.adapters.pytorch.statistics import complete, summarize
from gradviz._capture.adapters.pytorch.view_strides import numbers
from gradviz._capture.statistics.thumbnails import Samples
from gradviz.program.log import Log
from gradviz.program.noted import Glance
from gradviz.program.values import Summary, Value

SUMMARY = 14  # of a glance, where it is not missing

_PLAIN = (int, float, bool, str, complex, type(None), type(Ellipsis), slice)
_LONGEST = 64  # elements kept of a list among the arguments, characters times ten


class TorchValues(TensorTable):
    """Turns tensors into values; a description is shared while it holds."""

    def __init__(self, torch: Any, log: Log, scan: bool) -> None:
        super().__init__(log, scan)
        self.torch = torch
        self._tensor = torch.Tensor
        self._number = log.tensors.of
        self._parameter = torch.nn.Parameter
        self.samples = Samples()

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

    def look(self, tensor: Any, number: int | None = None) -> Glance:
        """Return a tensor as it is now in short, the last glance where that holds."""
        row = self.rows.get(id(tensor))
        if row is not None and len(row) > GLANCE and row[0]() is tensor:
            known = row[GLANCE]
            try:
                version = tensor._version
            except RuntimeError:  # of inference mode
                version = 0
            if known[NEEDS] is tensor.requires_grad and not (
                self.unversioned and known[STORAGE] in self.unversioned
            ):
                if known[VERSION] == version:
                    return known
                if known[IS_LEAF] and not known[IS_VIEW] and not self.scan:
                    # An optimizer wrote to a leaf: nothing else has changed.
                    known = with_version(known, version)
                    self.rows[id(tensor)] = row[0], row[1], known
                    return known
        version = version_of(tensor)
        if number is not None:
            return self._describe(tensor, number, version)
        number = self._number(tensor)
        glance = self._describe(tensor, number, version)
        self.rows[id(tensor)] = weakref.ref(tensor), number, glance
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
        rows, tensors, key = self.rows, self._tensors, id(tensor)
        row = rows.get(key)
        if row is not None and row[0]() is tensor:
            reference, number = row[0], row[1]
        else:
            tensors.count = number = tensors.count + 1
            reference = weakref.ref(tensor)
        glance = self._describe(tensor, number, version, scan, node)
        rows[key] = reference, number, glance
        if glance[NODE] is not None:
            self._fresh.append(glance)
        if len(rows) > tensors.room or len(self._fresh) > self._most:
            self._make_room()
        return glance

    def from_metadata(self, metadata: Any, node: int, output: int) -> Value:
        """Describe a result that nobody saw from what its node knows of it."""
        return Value(
            0,
            0,
            0,
            shape_of(metadata) or (),
            (),
            0,
            self.word(metadata.dtype),
            self.word(metadata.device),
            True,
            False,
            False,
            node,
            output,
        )

    def part(self, part: Any, whole: Glance) -> Glance:
        """Look at some elements of a tensor, under that tensor's number."""
        found = self._describe(part, whole[0], whole[VERSION])
        place, graph = found[:NEEDS], whole[NEEDS : IS_LEAF + 1]
        return *place, *graph, found[IS_VIEW], *whole[NODE : NODE + 2], *found[13:]

    def describe_anew(self) -> None:
        """Describe every tensor anew when it is met again: more, or less, is asked."""
        self.resolve()
        for key, row in list(self.rows.items()):
            if len(row) > GLANCE:
                self.rows[key] = row[:GLANCE]

    def _describe(
        self,
        tensor: Any,
        key: int,
        version: int,
        scan: bool = True,
        node: int | None = None,
    ) -> Glance:
        words, sizes, cls = self.words, self.shapes, type(tensor)
        number = output = offset = 0
        strides, storage = (), None
        try:
            if node is None and (grad_fn := tensor.grad_fn) is not None:
                sequence, output = grad_fn._sequence_nr(), tensor.output_nr
                leaf = sequence == NO_SEQUENCE
                node = self.node_key(grad_fn) if leaf else sequence + 1
        except RuntimeError:  # a view that is no longer valid
            node, output = None, 0
        try:
            shape = sizes.get(size := tensor.shape) or self.shared(tuple(size))
        except (RuntimeError, TypeError):  # a lazy module's parameter, or an open size
            shape = numbers(shape_of(tensor) or ())
        try:
            storage = tensor.untyped_storage()
            number = self.storage_of(storage)
            strides = sizes.get(size := tensor.stride()) or self.shared(size)
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
            words.get(dtype) or self.word(dtype),
            words.get(device) or self.word(device),
            tensor.requires_grad,
            node is None,
            tensor._is_view(),
            node,
            output,
            cls is not self._tensor and isinstance(tensor, self._parameter),
        )
        if self.detailed and storage is not None:
            size = numbers((storage.nbytes(), tensor.element_size()))
            self.sizes[number] = self.shared(size)
            if len(self.sizes) > self._sizes_room:
                self._forget_sizes()
        if self.scan and scan:
            glance += self.holds(tensor)
        return glance

    def holds(self, tensor: Any) -> tuple[Summary | None, str]:
        """Return what a tensor holds now, and its first elements."""
        full = self.detailed and tensor.requires_grad
        return summarize(self.torch, tensor, self.samples if full else None)

    def complete(self, met: list[tuple[Any, Glance]]) -> None:
        """Take the full statistics of what a call reads that is differentiated.

        Data on its way to a model is prepared in many calls that no graph shows.
        """
        if not any(glance[NEEDS] for _, glance in met):
            return
        for tensor, glance in met:
            summary = glance[SUMMARY] if len(glance) > SUMMARY else None
            if summary is not None and summary.full is None:
                complete(self.torch, tensor, summary, self.samples)

    def summary(self, tensor: Any) -> Summary | None:
        """Summarize a gradient."""
        samples = self.samples if self.detailed else None
        return summarize(self.torch, tensor, samples, shown=0)[0]

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


def version_of(tensor: Any) -> int:
    """Return the version of a tensor, 0 where there is none.

    Tensors of inference mode have none, and None, which a hook may get as a gradient.
    """
    try:
        return tensor._version
    except (AttributeError, RuntimeError):
        return 0
