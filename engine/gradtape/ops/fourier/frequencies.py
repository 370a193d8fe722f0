"""The frequencies that transforms sort values by, and their order."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from .._support.arguments import (
    as_integer,
    check_tensor,
    float_dtype,
    is_integer,
    wrap_dims,
)
from .._support.new_tensor import check_out, deliver, module_on, warn_of_count
from ..creation.factories import negative_size


def _frequencies(
    name: str, n: Any, length: Any, d: float, bins: Any, facts: dict[str, Any]
) -> Tensor:
    count = as_integer(n, f"fft_{name}", "n", 1)
    out, given = facts["out"], facts["dtype"]
    check_out(out, given, device=facts["device"])
    kind = out.dtype if given is None and out is not None else None
    kind = kind or float_dtype(given, f"fft_{name}")
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if kind.is_complex:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{kind.cpp_name}'"
        )
    size = length(count)
    if size < 0:
        raise RuntimeError(negative_size((size,), size, name))
    xp = module_on(facts["device"])
    array = bins(xp, count).astype(kind.numpy) * kind.numpy.type(
        1.0 / (count * d) if count else 0.0
    )
    warn_of_count(out, size)
    return deliver(array, out, facts["requires_grad"], name=f"fft_{name}")


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of the elements of fft(), samples being ``d`` apart.

    >>> import gradtape as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """

    def bins(xp: Any, n: int) -> Any:
        half = (n + 1) // 2
        return xp.concatenate([xp.arange(half), xp.arange(-(n // 2), 0)])

    facts = {"out": out, "dtype": dtype, "device": device}
    facts["requires_grad"] = requires_grad
    return _frequencies("fftfreq", n, int, d, bins, facts)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of the elements of rfft(), samples being ``d`` apart."""
    facts = {"out": out, "dtype": dtype, "device": device}
    facts["requires_grad"] = requires_grad
    return _frequencies(
        "rfftfreq",
        n,
        lambda n: n // 2 + 1,
        d,
        lambda xp, n: xp.arange(n // 2 + 1),
        facts,
    )


def _rolled(name: str, input: Any, dim: Any, more: int) -> Tensor:
    tensor = check_tensor(input, f"fft_{name}")
    given = range(tensor.dim()) if dim is None else dim
    dims = wrap_dims((given,) if is_integer(given) else given, tensor.dim())
    shifts = tuple((tensor.shape[d] + more) // 2 for d in dims)
    return FUNCTIONS["roll"](tensor, shifts, dims) if dims else tensor.clone()


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Reorder spectra so that frequency 0 is in the middle.

    >>> import gradtape as torch
    >>> torch.fft.fftshift(torch.arange(5))
    tensor([3, 4, 0, 1, 2])
    """
    return _rolled("fftshift", input, dim, 0)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo fftshift()."""
    return _rolled("ifftshift", input, dim, 1)
