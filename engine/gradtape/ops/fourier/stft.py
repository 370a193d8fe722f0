"""Short-time Fourier transforms: spectra of pieces of a signal, and back."""

from __future__ import annotations

import warnings
from typing import Any

from ..._common.messages import legacy_type_name, type_in_graph
from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS, method, tensor_ops
from ..._graph.registry import MODULES
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .transforms import _fft_c2c, _fft_c2r, _fft_r2c

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known "
    "to cause spectral leakage. Other windows such as torch.hann_window or "
    "torch.hamming_window are recommended to reduce spectral leakage.To suppress this "
    "warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
_NO_WINDOW_BACK = (
    "A window was not provided. A rectangular window will be applied.Please provide "
    "the same window used by stft to make the inversion lossless.To suppress this "
    "warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
_PAIRS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft "
    "will return complex tensors for all inputs, and return_complex=False will raise "
    "an error.\nNote: you can still call torch.view_as_real on the complex output to "
    "recover the old return format."
)
_NOT_SAID = (
    "stft requires the return_complex parameter be given for real inputs, and will "
    "further require that return_complex=True in a future PyTorch release."
)
_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded "
    "with zeros in the tail. Please check your center and hop_length settings."
)
_HALF_OF_COMPLEX = "Cannot have onesided output if window or input is complex"


def _shown(value: Any) -> str:
    """Write an argument as PyTorch's sentences do."""
    if isinstance(value, Tensor):
        return f"{legacy_type_name(value.dtype)}{{{list(value.shape)}}}"
    return str(int(value)) if isinstance(value, bool) else str(value)


def _call(name: str, input: str, facts: dict[str, Any]) -> str:
    told = ", ".join(f"{key}={_shown(value)}" for key, value in facts.items())
    return f"{name}({input}, {told})"


def _check_stft(input: Tensor, facts: dict[str, Any], align: bool) -> None:
    n_fft, hop, win = facts["n_fft"], facts["hop_length"], facts["win_length"]
    kind = f"{legacy_type_name(input.dtype)}{list(input.shape)}"
    length, window = input.shape[-1] if input.dim() else 0, facts["window"]
    fault = ""
    if not (input.is_floating_point() or input.is_complex()):
        fault = "expected a tensor of floating point or complex values"
    elif input.dim() not in (1, 2):
        fault = "expected a 1D or 2D tensor"
    elif not align and not 0 < n_fft < length + (n_fft == length):
        fault = f"expected 0 < n_fft < {length}, but got n_fft={n_fft}"
    elif hop <= 0:
        fault = f"expected hop_length > 0, but got hop_length={hop}"
    elif not 0 < win <= n_fft:
        fault = f"expected 0 < win_length <= n_fft, but got win_length={win}"
    elif window is not None and tuple(window.shape) != (win,):
        fault = (
            f"expected a 1D window tensor of size equal to win_length={win}, but got "
            f"window with size {list(window.shape)}"
        )
    if fault:
        raise RuntimeError(f"{_call('stft', kind, facts)} : {fault}")


def _full_window(window: Tensor | None, like: Tensor, win: int, n_fft: int) -> Any:
    """Return the window with zeros around it, as wide as what it multiplies."""
    if window is None:
        if win == n_fft:
            return None
        window = FUNCTIONS["ones"](win, dtype=like.dtype, device=like.device)
    left = (n_fft - win) // 2
    if win < n_fft:
        window = FUNCTIONS["constant_pad_nd"](window, (left, n_fft - win - left))
    return window


def _centered(input: Tensor, half: int, mode: str) -> Tensor:
    """Pad a signal by half a piece on both sides, so that pieces lie around times."""
    rank = input.dim()
    wide = input.reshape((1,) * (3 - rank) + tuple(input.shape))
    pad = MODULES[".nn.functional"].pad  # which modes of __torch_function__ see
    wide = pad(wide, (half, half), mode)
    return wide.reshape(tuple(wide.shape)[3 - rank :])


@method(function=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Return the spectra of pieces of a signal: (batch, frequencies, pieces).

    ``input`` is (time) or (batch, time). Each piece has ``n_fft`` samples and begins
    ``hop_length`` after the one before; ``window`` weighs its samples. Raises
    RuntimeError for sizes that do not fit.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, -1.0, 1.0, -1.0])
    >>> window = torch.ones(2)
    >>> torch.stft(x, 2, 1, window=window, center=False, return_complex=True).real
    tensor([[ 0.,  0.,  0.],
            [ 2., -2.,  2.]])
    """
    check_tensor(input, "stft")
    if center and align_to_window is not None:
        raise RuntimeError(
            "stft align_to_window should only be set when center = false"
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if window is None:
        warnings.warn(_NO_WINDOW, UserWarning, stacklevel=user_stacklevel())
    complex_in = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not complex_in:
        raise RuntimeError(_NOT_SAID)
    if not complex_in and not return_complex:
        warnings.warn(_PAIRS, UserWarning, stacklevel=user_stacklevel())
    if center:
        input = _centered(input, n_fft // 2, pad_mode)
    facts = {
        "n_fft": n_fft,
        "hop_length": hop,
        "win_length": win,
        "window": window,
        "normalized": normalized,
        "onesided": onesided,
        "return_complex": return_complex,
        "align_to_window": align_to_window,
    }
    _check_stft(input, facts, bool(align_to_window))
    half = (not complex_in) if onesided is None else onesided
    if half and complex_in:
        raise RuntimeError(_HALF_OF_COMPLEX)
    pieces = _pieces(input, n_fft, hop, win, bool(align_to_window))
    whole = _full_window(window, input, win, n_fft)
    found = _spectra(pieces if whole is None else pieces * whole, normalized, half)
    found = found.transpose_(1, 2)
    if input.dim() == 1:
        found = found.squeeze_(0)
    return found if return_complex is not False else FUNCTIONS["view_as_real"](found)


def _pieces(input: Tensor, n_fft: int, hop: int, win: int, align: bool) -> Tensor:
    """Show the pieces of a signal as (batch, pieces, samples), in its own memory."""
    rows = input.unsqueeze(0) if input.dim() == 1 else input
    if align:
        left = (n_fft - win) // 2
        rows = FUNCTIONS["constant_pad_nd"](rows, (left, n_fft - win - left))
    count = 1 + (rows.shape[1] - n_fft) // hop
    batch, step = rows.stride()
    size = (rows.shape[0], count, n_fft)
    return rows.as_strided(size, (batch, hop * step, step))


def _spectra(pieces: Tensor, normalized: bool, half: bool) -> Tensor:
    if pieces.is_complex():
        return _fft_c2c(pieces, (2,), int(normalized), True)
    return _fft_r2c(pieces, (2,), int(normalized), half)


def _check_istft(
    input: Tensor, facts: dict[str, Any], bins: int, onesided: bool, head: str
) -> None:
    n_fft, hop, win = facts["n_fft"], facts["hop_length"], facts["win_length"]
    window, fault = facts["window"], ""
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if not input.numel():
        fault = "input tensor cannot be empty."
    elif input.dim() not in (2, 3):
        fault = f"expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}"
    elif bins != wanted:
        name = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when "
        fault = (
            "expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {name}{'' if onesided else 'onesided=False'}, but got {bins}"
        )
    elif not 0 < hop <= win:
        fault = "expected 0 < hop_length <= win_length"
    elif not 0 < win <= n_fft:
        fault = "expected 0 < win_length <= n_fft"
    elif window is not None and tuple(window.shape) != (win,):
        fault = "Invalid window shape. window has to be 1D and length of `win_length`"
    if fault:
        raise RuntimeError(f"{head} : {fault}")


@method(function=True)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Return the signal whose :func:`stft` is ``input``, by least squares.

    ``input`` is complex, (frequencies, pieces) or (batch, frequencies, pieces). Raises
    RuntimeError where the windows leave some sample of the signal unseen.
    """
    if window is None:
        warnings.warn(_NO_WINDOW_BACK, UserWarning, stacklevel=user_stacklevel())
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from "
            "stft with return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    facts = {
        "n_fft": n_fft,
        "hop_length": hop,
        "win_length": win,
        "window": window,
        "center": center,
        "normalized": normalized,
        "onesided": onesided,
        "length": length,
        "return_complex": return_complex,
    }
    rank = input.dim() + 1  # PyTorch counts real and imaginary parts as a dimension
    bins = input.shape[wrap_dim(-3, rank)]
    half = bins != n_fft if onesided is None else onesided
    kind = f"{type_in_graph(input.dtype)}{list(input.shape)}"
    head = _call("istft", kind, facts)
    _check_istft(input, facts, bins, half, head)
    if return_complex and half:
        raise RuntimeError(_HALF_OF_COMPLEX)
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    parts = FUNCTIONS["view_as_real"](input)
    parts = (parts.unsqueeze(0) if input.dim() == 2 else parts).transpose(1, 2)
    rows = FUNCTIONS["view_as_complex"](parts)
    scale = 1 if normalized else 2
    if return_complex:
        pieces = _fft_c2c(rows, (2,), scale, False)
    else:
        kept = rows if half else rows.narrow(2, 0, n_fft // 2 + 1)
        pieces = _fft_c2r(kept, (2,), scale, n_fft)
    signal = _laid_together(pieces, facts, head)
    return signal.squeeze(0) if input.dim() == 2 else signal


def _laid_together(pieces: Tensor, facts: dict[str, Any], head: str) -> Tensor:
    """Add up weighted pieces where they overlap, and divide by the weights."""
    n_fft, hop, center = facts["n_fft"], facts["hop_length"], facts["center"]
    length = facts["length"]
    weights = _full_window(facts["window"], pieces, facts["win_length"], n_fft)
    if weights is None:
        weights = FUNCTIONS["ones"](n_fft, dtype=pieces.dtype, device=pieces.device)
    batch, frames = pieces.shape[0], pieces.shape[1]
    total = n_fft + hop * (frames - 1)
    squares = weights.pow(2).expand(1, frames, n_fft)
    add_up = tensor_ops.unfold_backward
    signal = add_up(pieces * weights.view(1, 1, n_fft), (batch, total), 1, n_fft, hop)
    envelope = add_up(squares, (1, total), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = total - (n_fft // 2 if center else 0)
    if length is not None:
        end = min(start + length, total)
    signal, envelope = (
        tensor_ops.slice(each, 1, start, end, 1) for each in (signal, envelope)
    )
    if end > start and not envelope.abs().min().item() > 1e-11:
        raise RuntimeError(f"{head} window overlap add min: 1")
    signal = signal / envelope
    if length is not None and length > end - start:
        warnings.warn(_SHORT, UserWarning, stacklevel=user_stacklevel())
        signal = FUNCTIONS["constant_pad_nd"](signal, (0, length - (end - start)))
    return signal
