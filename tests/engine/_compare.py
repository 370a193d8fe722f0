"""Compare what two engines made of one call; return sentences about differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._engines import OURS, theirs
from .ops.samples._record import OpSample

TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "float32": (2e-5, 1e-6),
    "float16": (2e-3, 1e-4),
    "complex128": (1e-7, 1e-9),
    "complex64": (2e-5, 1e-6),
}


def values_differ(ours: Any, wanted: Any, rtol: float = 0.0) -> str:
    """Say how two arrays differ in dtype, shape or value; "" if they do not."""
    if ours.dtype != wanted.dtype:
        return f"dtype {ours.dtype}, should be {wanted.dtype}"
    if ours.shape != wanted.shape:
        return f"shape {ours.shape}, should be {wanted.shape}"
    if np.array_equal(ours, wanted):  # closeness takes 15 times as long
        return ""
    least, atol = TOLERANCES.get(ours.dtype.name, (0.0, 0.0))
    with np.errstate(all="ignore"):
        same = np.isclose(ours, wanted, max(rtol, least), atol, equal_nan=True)
    if same.all():
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
    mine, yours = np.atleast_1d(ours)[at], np.atleast_1d(wanted)[at]
    return f"[{', '.join(map(str, at))}] is {mine}, should be {yours}"


def outputs_differ(entry: OpSample, ours: Any, wanted: Any) -> Iterator[str]:
    """Yield how the results of a call differ: values, dtype, layout, record."""
    mine, yours = OURS.tensors(ours), theirs().tensors(wanted)
    if not mine and not yours:
        if ours != wanted or type(ours) is not type(wanted):
            yield f"returned {ours!r}, should be {wanted!r}"
        return
    if len(mine) != len(yours):
        yield f"{len(mine)} outputs, should be {len(yours)}"
        return
    for number, (m, y) in enumerate(zip(mine, yours, strict=True)):
        where = f"output {number}: " if len(mine) > 1 else ""
        found = values_differ(OURS.array(m), theirs().array(y), entry.rtol)
        if found:
            yield where + found
            continue
        if m.requires_grad != y.requires_grad:
            yield f"{where}requires_grad {m.requires_grad}, not {y.requires_grad}"
        if entry.strides:
            for fact in ("stride", "storage_offset"):
                f, w = getattr(m, fact)(), getattr(y, fact)()
                if f != w:
                    yield f"{where}{fact} {f}, should be {w}"
        if entry.graph:
            f, w = graph_text(m.grad_fn), graph_text(y.grad_fn)
            if f != w:
                yield f"{where}graph {f}, should be {w}"


def graph_text(node: Any) -> str:
    """Write a node and what it leads to: ``Add0(Accumulate, Mul0(…))``."""
    if node is None:
        return "-"
    name = node.name().rpartition("::")[2].replace("Backward", "")
    name = name.removeprefix("struct ")
    following = [graph_text(n) for n, _ in node.next_functions]
    return f"{name}({', '.join(following)})" if following else name


def saved_differ(ours: Any, wanted: Any) -> Iterator[str]:
    """Yield how ``_saved_…`` of two nodes differ. PyTorch's may be a subset of ours.

    What PyTorch reads back from its own undefined tensors is None or an error.
    """
    if wanted is None or ours is None:
        return
    for name in dir(wanted):
        if not name.startswith("_saved_"):
            continue
        try:
            yours = getattr(wanted, name)
        except RuntimeError:
            continue
        try:
            mine = getattr(ours, name)
        except AttributeError:
            yield f"{name} is missing; PyTorch has {yours!r}"
            continue
        if theirs().tensors(yours):
            if not OURS.tensors(mine) and not isinstance(mine, int | float | complex):
                yield f"{name} is {mine!r}, should be a tensor"
        elif _plain(mine) != _plain(yours):
            yield f"{name} is {mine!r}, should be {yours!r}"


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(v) for v in value)
    text = str(value)
    return text if text.startswith("torch.") else _unsigned(value)


def _unsigned(value: Any) -> Any:
    # PyTorch shows negative dims of its 64-bit fields as unsigned numbers.
    wraps = isinstance(value, int) and value > 2**63
    return value - 2**64 if wraps else value
