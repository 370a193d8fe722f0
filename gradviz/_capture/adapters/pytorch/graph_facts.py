"""What graphs of PyTorch are made with, beside the records of the log."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gradviz._capture.adapters.pytorch.isolation import Isolated, is_opaque
from gradviz._capture.adapters.pytorch.limitations import notes_on
from gradviz._capture.adapters.pytorch.log import TorchLog
from gradviz._capture.adapters.pytorch.producer import producer
from gradviz._capture.adapters.pytorch.view_strides import (
    Layout,
    contiguous,
    numbers,
    view_layouts,
)
from gradviz._capture.detail import Detail
from gradviz._capture.names.hooks import Hook, hooks_of
from gradviz._capture.recorder.engine import GraphFacts, Inside, Operation
from gradviz._capture.recorder.raw import RawNode, RawTensor
from gradviz.program.events import Backward, Call
from gradviz.program.values import Node, Value


class TorchEngine:
    """Opens logs of PyTorch. It is imported already where anyone asks."""

    def __init__(self, *, keep_compiled: bool = False) -> None:
        self.keep_compiled = keep_compiled
        torch = importlib.import_module("torch")
        self.tensor_type: type = torch.Tensor
        self._unasked: Any = torch._C.DisableTorchFunction

    def innermost(self) -> TorchLog | None:
        """Return the log that is open already."""
        return TorchLog.innermost()

    def open(self, values: bool, detail: Detail) -> TorchLog:
        """Return a new log."""
        return TorchLog(scan=values, detail=detail, keep_compiled=self.keep_compiled)

    def watch(self, log: TorchLog, steps: int, thumbnails: bool) -> None:
        """Let a log note also what a picture of the graph needs."""
        log.watch_details(steps, thumbnails)

    def facts(self, log: TorchLog) -> GraphFacts:
        """Return what is known of the graph in a log."""
        return TorchFacts(log)

    def hooks_of(self, tensor: Any) -> tuple[Hook, ...] | None:
        """Return the hooks on a leaf; None for what is no leaf."""
        with self._unasked():  # a subclass is not to notice
            return hooks_of(tensor) if tensor.is_leaf else None

    def number_of(self, tensor: Any) -> float | None:
        """Return the one number in a tensor; None where asking for it would wait."""
        torch = sys.modules["torch"]
        with Isolated(torch):
            if is_opaque(torch, tensor) or tensor.numel() != 1 or tensor.is_complex():
                return None
            # Past the wrappers of a log: nobody but us asks.
            here = tensor.device.type == "cpu"
            return float(torch._C.TensorBase.item(tensor)) if here else None


class TorchFacts:
    """See :class:`gradviz._capture.recorder.engine.GraphFacts`."""

    tells_inside = False

    def __init__(self, log: TorchLog) -> None:
        self._log = log
        self.producer = producer(log.torch)

    def settle(self, nodes: Iterable[int] | None = None) -> None:
        """All rows are there: nodes are read by the passes that walk them."""

    def reading(self) -> AbstractContextManager[None]:
        """Do nothing: what was read is kept."""
        return nullcontext()

    def layout(self, value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return shape and strides, of a tensor that nobody saw as if contiguous."""
        shape = numbers(value.shape)
        return shape, numbers(value.strides) or tuple(contiguous(shape))

    def size(self, storage: int) -> tuple[int, int]:
        """Return how many bytes memory has, and how many an element."""
        return self._log.values.sizes.get(storage, (0, 1))

    def count(self) -> int:
        """Return how many nodes were read."""
        return len(self._log.program.nodes)

    def values(self, node: Node) -> Sequence[Value]:
        """Return the tensors that the call behind a node took and gave."""
        call = self._log.program.event(node.call)
        if isinstance(call, Call) and call.nodes and call.nodes[-1] == node.key:
            return *call.inputs, *call.outputs, *node.outputs
        return node.outputs

    def operation(self, key: int) -> Operation | None:
        """Return nothing: PyTorch tells of calls, not of the ops inside."""
        return None

    def is_gone(self, key: int) -> bool:
        """Return False: nothing refers to nodes of PyTorch, not even weakly."""
        return False

    def lay_out(self, node: Node, raw: RawNode, source: RawTensor) -> None:
        """Work out how a view lies in memory from what it is a view of."""
        layout = Layout(source.shape, source.strides, source.offset)
        shapes = [output.shape for output in raw.outputs]
        found = view_layouts(node.view, layout, shapes)
        for output, each in zip(raw.outputs, found, strict=False):
            if output.storage is None:
                output.strides, output.offset = each.strides, each.offset
                output.storage, output.version = source.storage, source.version
                output.is_view = True

    def hooks(self) -> Mapping[int, tuple[Hook, ...]]:
        """Return nothing: what was put on is in the log."""
        return {}

    def inside(self, event: Backward) -> Sequence[Inside]:
        """Return nothing: what ran is in the log."""
        return ()

    def notes(self, nodes: Mapping[int, RawNode], bare: int) -> list[str]:
        """Say what could not be seen of the nodes of a recording."""
        packed = [hook for at, hook in self._log.graph.packed.items() if at[0] in nodes]
        found = notes_on({raw.name for raw in nodes.values()}, packed, bare)
        lost = sum(raw.sequence is not None and not raw.site for raw in nodes.values())
        if lost:
            found.append(
                f"{lost:,} nodes have no line: they were made before the recording "
                "began, by another thread, or by PyTorch itself."
            )
        return found
