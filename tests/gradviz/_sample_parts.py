"""The parts that sample snapshots are put together from."""

from __future__ import annotations

import math

from gradviz import ir

PRODUCER = "samples 1.0"


def leaf(name: str, tensor: int, scope: int | None = None) -> ir.OpNode:
    return ir.OpNode(
        "AccumulateGrad", "accumulate", name, outputs=(tensor,), scope=scope
    )


def op(
    name: str,
    call: str,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    site: int | None,
    sequence: int,
    grad: int | None,
    scope: int | None = None,
    arguments: tuple[str, ...] = (),
    kind: ir.NodeKind = "op",
) -> ir.OpNode:
    return ir.OpNode(
        name,
        kind,
        call,
        arguments,
        inputs,
        outputs,
        scope=scope,
        site=site,
        sequence=sequence,
        grad_outputs=() if grad is None else (grad,),
        elapsed_ns=None if grad is None else 1_000 * (sequence + 1),
    )


def tensor(
    shape: tuple[int, ...],
    storage: int,
    *,
    name: str | None = None,
    leaf: bool = False,
    requires_grad: bool = True,
    statistics: int | None = None,
) -> ir.TensorMeta:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return ir.TensorMeta(
        shape,
        tuple(reversed(strides)),
        0,
        "float32",
        "cpu",
        storage,
        requires_grad=requires_grad,
        is_leaf=leaf,
        name=name,
        statistics=statistics,
    )


def storage(elements: int, tensors: tuple[int, ...]) -> ir.StorageMeta:
    return ir.StorageMeta(4 * elements, "cpu", 4, 0, tensors)


def site(
    file: str,
    line: int,
    start: int,
    stop: int,
    text: str,
    *,
    function: str = "<module>",
    source: int | None = None,
) -> ir.Site:
    """Return a site; ``start`` and ``stop`` slice ``text`` as Python slices do."""
    indent = 0 if function == "<module>" else 8
    columns = indent + start + 1, indent + stop + 1
    return ir.Site(
        file, line, line, *columns, " " * indent + text, function, source=source
    )


def normal(count: int, norm: float) -> ir.Statistics:
    """Return the statistics of a bell-shaped array of that many elements."""
    spread = norm / math.sqrt(count)
    weights = [math.exp(-(((i - 15.5) / 6) ** 2)) for i in range(32)]
    bins = [int(count * weight / sum(weights)) for weight in weights]
    bins[16] += count - sum(bins)
    return ir.Statistics(
        count,
        -3 * spread,
        3 * spread,
        0.0,
        spread,
        norm,
        histogram=tuple(bins),
        histogram_low=-3 * spread,
        histogram_high=3 * spread,
    )


def constant(count: int, value: float) -> ir.Statistics:
    bins = [0] * 32
    bins[16] = count
    return ir.Statistics(
        count,
        value,
        value,
        value,
        0.0,
        abs(value) * math.sqrt(count),
        histogram=tuple(bins),
        histogram_low=value - 0.5,
        histogram_high=value + 0.5,
    )
