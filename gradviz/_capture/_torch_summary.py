"""What a PyTorch tensor holds, in a few numbers."""

from __future__ import annotations

from typing import Any

from gradviz.program.values import Summary

_SHOWN = 8  # elements written out


def summarize(torch: Any, tensor: Any) -> tuple[Summary | None, str]:
    """Return the summary of a tensor and its first elements as text.

    Computed where the tensor lives, with neither graph nor random numbers touched.
    """
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_quantized:
        return None, ""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        try:
            data = tensor.detach()
            text = str(data.flatten()[:_SHOWN].tolist())
            if data.is_complex():
                data = torch.view_as_real(data.resolve_conj())
            if data.dtype is torch.bool:
                data = data.to(torch.uint8)
            return _numbers(torch, data), text
        except (RuntimeError, NotImplementedError):
            return None, ""  # a dtype or device without such ops, an invalid view


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
