"""Where a stepped backward pass stands: the node about to run and what reached it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradviz import ir
from gradviz.program.sources import cell_of


@dataclass(frozen=True, slots=True)
class Gradient:
    """One incoming gradient in numbers. NaN and Inf are left out of the norm."""

    shape: tuple[int, ...]
    dtype: str
    norm: float
    nans: int
    infs: int

    def __str__(self) -> str:
        bad = [
            f"{n} {word}" for n, word in ((self.nans, "NaN"), (self.infs, "Inf")) if n
        ]
        words = ", ".join([f"norm {self.norm:.4g}", *bad])
        return f"{self.dtype} {self.shape}, {words}"


NO_LINE = (
    "its line is not known: run the forward pass inside `with gradviz.record():`, and "
    "step there"
)


@dataclass(frozen=True, slots=True)
class Stop:
    """The pass waits before this node."""

    name: str  # "MulBackward0"
    module: str  # path of the module call that made it, "" at top level
    site: ir.Site | None  # the user's line that made it
    incoming: tuple[Gradient | None, ...]  # None: no gradient on that output
    number: int  # nodes run before it
    total: int  # nodes the pass will run
    index: int = -1  # which of the pass's nodes, in the order of the walk
    leaf: str = ""  # for AccumulateGrad: whose .grad is about to change
    reason: str = ""  # the breakpoint that stopped it

    def is_inside(self, module: str) -> bool:
        """Tell whether a module call, or one inside of it, made the node."""
        return f"{self.module}.".startswith(f"{module}.")

    def __repr__(self) -> str:
        site = self.site
        place = "" if site is None else f"  {file_of(site)}:{site.line}"
        leaf = f" of {self.leaf}" if self.leaf else ""
        module = f"  in {self.module}" if self.module else ""
        lines = [f"[{self.number}/{self.total}] {self.name}{leaf}{module}{place}"]
        if site is not None and site.text:
            lines.append(f"    {site.text.strip()}")
        elif site is None and not self.leaf:
            lines.append(f"    {NO_LINE}")
        for number, gradient in enumerate(self.incoming):
            lines.append(f"    gradient {number}: {gradient or 'none'}")
        if self.reason:
            lines.append(f"    stopped: {self.reason}")
        return "\n".join(lines)


def file_of(site: ir.Site) -> str:
    """Return the file of a line, or what the notebook calls the cell: "Cell In[3]"."""
    return cell_of(site.file)[0] or site.file


def gradient_of(tensor: Any) -> Gradient | None:
    """Measure an incoming gradient of either engine.

    The norm is the L2 norm, sqrt(sum(g**2)), over the finite elements in float64.
    """
    if tensor is None:
        return None
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.coalesce().values()
    flat = tensor.detach().flatten()
    if flat.is_complex():
        flat = flat.abs()
    values = flat.double()
    nans = int(values.isnan().sum())
    infs = int(values.isinf().sum())
    if nans or infs:
        values = values[values.isfinite()]
    norm = math.sqrt(float((values * values).sum()))
    dtype = str(tensor.dtype).removeprefix("torch.").removeprefix("gradtape.")
    return Gradient(tuple(tensor.shape), dtype, norm, nans, infs)


def gradients_of(tensors: Sequence[Any]) -> tuple[Gradient | None, ...]:
    """Measure all incoming gradients of a node."""
    return tuple(gradient_of(tensor) for tensor in tensors)
