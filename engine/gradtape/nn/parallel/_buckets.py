"""Gradients that are averaged together, while the backward pass goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..._backend import backend_of
from ..._engine import graph_task
from ..._tensor.tensor import Tensor, edge_of, wrap
from ...distributed import ProcessGroup, ReduceOp, Work, all_reduce
from ...distributed._engine import flat, joined, put

__all__ = ["Buckets", "part"]

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new "
    "one. This error indicates that your module has parameters that were not used in "
    "producing loss. You can enable unused parameter detection by passing the keyword "
    "argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` "
    "function outputs participate in calculating loss. \nIf you already have done the "
    "above, then the distributed data parallel module wasn't able to locate the output "
    "tensors in the return value of your module's `forward` function. Please include "
    "the loss function and the structure of the return value of `forward` of your "
    "module when reporting this issue (e.g. list, dict, iterable).\nParameter indices "
    "which did not receive grad for rank {rank}: {indices}"
)
_READY_TWICE = (
    "Expected to mark a variable ready only once. Parameter at index {} got a second "
    "gradient in one backward pass: with activation checkpoints, use "
    "`torch.utils.checkpoint` with use_reentrant=False or pass static_graph=True."
)

_SPARSE = (
    "DistributedDataParallel averages dense gradients, but that of the parameter at "
    "index {} is sparse: build its layer with sparse=False."
)


class Buckets:
    """Averages the gradients of parameters over the processes of a group.

    Parameters are parted into buckets, last ones first, since the backward pass comes
    to them first. A bucket whose gradients are all there is on its way while the pass
    goes on; at its end all are waited for. Buckets set out in order, in every process.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: ProcessGroup,
        limit_bytes: int,
        first_bytes: int,
        find_unused: bool,
    ) -> None:
        self.parameters, self.group = list(parameters), group
        self.find_unused = find_unused
        self.buckets = part(self.parameters, limit_bytes, first_bytes)
        self._armed = False  # whether the next gradients are to be averaged
        self._ready: set[int] = set()
        self._unused: set[int] = set()
        self._sent: list[tuple[Tensor, Work | None]] = []
        self._handles = [
            p.register_post_accumulate_grad_hook(partial(self._on_gradient, i))
            for i, p in enumerate(self.parameters)
        ]

    # ---- around the forward pass ----------------------------------------------------

    def check_finished(self) -> None:
        """Raise RuntimeError where the last backward pass left gradients out."""
        if self._armed and self._ready:
            missing = sorted(set(range(len(self.parameters))) - self._ready)
            indices = " ".join(map(str, missing))
            self.disarm()
            raise RuntimeError(
                _UNFINISHED.format(rank=self.group.rank(), indices=indices)
            )

    def arm(self, outputs: Iterable[Tensor]) -> None:
        """Expect a backward pass from these outputs, whose gradients are averaged."""
        self.disarm()
        self._armed = True
        if self.find_unused:
            used = _leaves_behind(outputs)
            ids = enumerate(id(p) for p in self.parameters)
            self._unused = {i for i, each in ids if each not in used}

    def disarm(self) -> None:
        """Leave the gradients of the next pass as they are."""
        self._armed = False
        self._ready.clear()
        self._unused.clear()
        self._sent.clear()

    # ---- during the backward pass ---------------------------------------------------

    def _on_gradient(self, index: int, parameter: Tensor) -> None:
        if not self._armed:
            return
        if index in self._ready:
            if index in self._unused:
                return  # it did not come from the outputs; others think so too
            raise RuntimeError(_READY_TWICE.format(index))
        if not self._ready:
            self._ready |= self._unused
        self._ready.add(index)
        while len(self._sent) < len(self.buckets):
            if not self._ready.issuperset(self.buckets[len(self._sent)]):
                return
            self._send(self.buckets[len(self._sent)])
        graph_task.queue_callback(self._finish)

    def _send(self, bucket: Sequence[int]) -> None:
        averages = wrap(joined([self._share(i) for i in bucket]))
        work = all_reduce(averages, ReduceOp.SUM, self.group, async_op=True)
        self._sent.append((averages, work))

    def _share(self, index: int) -> Any:
        """Return this process's part of an average, as an array of one dimension."""
        parameter = self.parameters[index]
        grad = parameter.grad
        if grad is None:
            xp = backend_of(parameter._data).xp
            return xp.zeros(parameter.numel(), parameter._data.dtype)
        if grad.is_sparse:
            raise RuntimeError(_SPARSE.format(index))
        return flat(grad, on_host=False) / self.group.size()

    def _finish(self) -> None:
        sent = list(self._sent)
        nowhere_used = self._nowhere_used()
        self.disarm()
        for bucket, (averages, work) in zip(self.buckets, sent, strict=True):
            if work is not None:
                work.wait()
            self._take(bucket, averages._data, nowhere_used)

    def _nowhere_used(self) -> set[int]:
        """Return the parameters that no process used; their gradients stay."""
        if not self.find_unused:
            return set()
        xp = backend_of(self.parameters[0]._data).xp
        used = [i not in self._unused for i in range(len(self.parameters))]
        counts = wrap(xp.asarray(used, "int32"))
        all_reduce(counts, ReduceOp.SUM, self.group)
        return {i for i, count in enumerate(counts.tolist()) if not count}

    def _take(self, bucket: Sequence[int], averages: Any, leave: set[int]) -> None:
        start = 0
        for index in bucket:
            parameter = self.parameters[index]
            end = start + parameter.numel()
            if index not in leave:
                found = averages[start:end]
                if parameter.grad is None:
                    parameter.grad = wrap(found.reshape(parameter.shape).copy())
                else:
                    put(parameter.grad, found, "all_reduce_")
            start = end


def part(
    parameters: Sequence[Tensor], limit_bytes: int, first_bytes: int
) -> list[list[int]]:
    """Return the places of parameters in buckets, the last parameters first.

    A bucket is full when it has ``limit_bytes``, the first at ``first_bytes``; of
    several types or devices, each has its own.
    """
    done: list[list[int]] = []
    open_: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    for index in reversed(range(len(parameters))):
        parameter = parameters[index]
        kind = parameter.dtype, str(parameter.device)
        open_.setdefault(kind, []).append(index)
        nbytes = parameter.numel() * parameter.element_size()
        sizes[kind] = sizes.get(kind, 0) + nbytes
        if sizes[kind] >= (limit_bytes if done else first_bytes):
            done.append(open_.pop(kind))
            sizes[kind] = 0
    return done + list(open_.values())


def _leaves_behind(outputs: Iterable[Tensor]) -> set[int]:
    """Return the ids of all leaves that a backward pass from the outputs reaches."""
    nodes = [node for each in outputs if (node := edge_of(each)) is not None]
    seen = set(map(id, nodes))
    leaves: set[int] = set()
    while nodes:
        node: Any = nodes.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        for following, _ in node.next_functions:
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                nodes.append(following)
    return leaves
