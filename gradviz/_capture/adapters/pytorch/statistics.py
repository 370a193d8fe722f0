"""What a PyTorch tensor holds, in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz import ir
from gradviz._capture.adapters.pytorch.isolation import Isolated, is_opaque
from gradviz._capture.statistics.scan import summary_of
from gradviz._capture.statistics.summary import statistics as array_statistics
from gradviz._capture.statistics.thumbnails import Samples
from gradviz.program.values import Summary

_SHOWN = 8  # elements written out


class _Lent:
    """A tensor as ``numpy.from_dlpack`` takes it."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU


def array_of(torch: Any, tensor: Any) -> Any:
    """Return a tensor of the CPU as an array over its memory.

    ``tensor.numpy()`` does that too, but then nobody may resize the tensor any more.
    Raises RuntimeError for dtypes that NumPy lacks.
    """
    return np.from_dlpack(_Lent(torch._C._to_dlpack(tensor)))


def summarize(
    torch: Any, tensor: Any, samples: Samples | None = None, shown: int = _SHOWN
) -> tuple[Summary | None, str]:
    """Return the summary of a tensor and its first elements as text, if wanted.

    ``samples`` asks for what the view shows: moments and a histogram, and elements for
    a thumbnail where samples are on. Neither graph nor random numbers are touched.
    """
    if torch._C._get_tracing_state() is not None:
        return None, ""  # a trace would keep what we compute
    with Isolated(torch):
        if _holds_nothing(torch, tensor):
            return None, ""
        try:
            data = tensor.detach()
            if samples is not None:
                found = _with_statistics(torch, data, samples)
                return found, _first(_beginning(data), shown)
            if data.is_complex():
                data = torch.view_as_real(data.resolve_conj())
            if data.dtype is torch.bfloat16:
                data = data.float()
            if data.is_cpu:
                array = array_of(torch, data.resolve_neg())
                return summary_of(array), _first(array.flat, shown)
            text = _first(_beginning(data), shown)
            if data.dtype is torch.bool:
                data = data.to(torch.uint8)
            return _numbers(torch, data), text
        except (RuntimeError, NotImplementedError, TypeError):
            return None, ""  # a dtype or device without such ops, an invalid view


def _first(elements: Any, count: int) -> str:
    return str(elements[:count].tolist()) if count else ""


def _beginning(data: Any) -> Any:
    """Return the elements a tensor begins with, in one row: not a copy of it all."""
    while data.dim() > 1 and data.numel() > _SHOWN * _SHOWN:
        data = data[0] if data[0].numel() >= _SHOWN else data[:_SHOWN]
    return data.flatten()


def statistics(torch: Any, tensor: Any) -> ir.Statistics | None:
    """Return what the view says about the values of a tensor, of any dtype.

    NumPy reads memory of the CPU where it is; of others a copy is made.
    """
    with Isolated(torch):
        array = _readable(torch, tensor)
        return None if array is None else array_statistics(array)


def complete(torch: Any, tensor: Any, summary: Summary, samples: Samples) -> None:
    """Add to a summary what the view shows of the tensor."""
    with Isolated(torch):
        array = _readable(torch, tensor)
        if array is not None:
            summary.full = array_statistics(array)
            summary.sample = samples.of(array, summary.full.first_bad)


def _readable(torch: Any, tensor: Any) -> Any:
    """Return an array of what a tensor holds; None where it has no numbers for us."""
    if _holds_nothing(torch, tensor):
        return None
    data = tensor.detach().resolve_conj().resolve_neg()
    if data.dtype in (torch.bfloat16, torch.float16):
        data = data.float()
    try:
        return array_of(torch, data.cpu())
    except RuntimeError:  # inside a transform of torch.func: no memory of its own
        return None


def _holds_nothing(torch: Any, tensor: Any) -> bool:
    """Tell whether there is nothing to look at, or nothing for us."""
    strided = not is_opaque(torch, tensor) and tensor.layout is torch.strided
    return not strided or tensor.is_quantized


def _with_statistics(torch: Any, data: Any, samples: Samples) -> Summary | None:
    array = _readable(torch, data)
    if array is None:
        return None
    full = array_statistics(array)
    return Summary(
        full.count,
        full.nans,
        full.infs,
        full.zeros,
        full.first_bad,
        full.minimum,
        full.maximum,
        full.norm,
        full,
        samples.of(array, full.first_bad),
    )


def _numbers(torch: Any, data: Any) -> Summary:
    summary = Summary(count=data.numel())
    if not summary.count:
        return summary
    if data.is_floating_point():
        # float64 holds the squares of whatever the others hold
        data = data if data.dtype is torch.float64 else data.float()
        if not bool(torch.isfinite(data).all()):
            data = _finite_part(torch, data, summary)
            if not data.numel():
                return summary
    low, high = torch.aminmax(data)
    summary.minimum, summary.maximum = float(low), float(high)
    summary.zeros = data.numel() - int(torch.count_nonzero(data))
    summary.norm = float(torch.linalg.vector_norm(data.double()))
    return summary


def _finite_part(torch: Any, data: Any, summary: Summary) -> Any:
    finite = torch.isfinite(data)
    summary.nans = int(torch.isnan(data).sum())
    summary.infs = int(torch.isinf(data).sum())
    bad = int((~finite).flatten().to(torch.uint8).argmax())
    summary.first_bad = tuple(
        int(place) for place in torch.unravel_index(torch.tensor(bad), data.shape)
    )
    return data[finite]
