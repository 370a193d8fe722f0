"""GradScaler: keep small float16 gradients from vanishing by scaling the loss."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from .._backend import cuda as _cuda
from .._backend.device import device as Device
from .._common.site import user_stacklevel
from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from .._dtypes import float16, float32
from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from ._scale import Scale
from ._scale import _amp_foreach_non_finite_check_and_unscale_ as check_and_unscale
from ._scale import _amp_update_scale_ as update_scale

__all__ = ["GradScaler", "OptState"]

NO_CUDA: Final = (
    "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
)
PASSES_ITSELF: Final = (
    "GradScaler is going to stop passing itself as a keyword argument to the passed "
    "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
    "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
    "directly."
)


class OptState(Enum):
    """How far an iteration has come for one optimizer."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Copies:
    """A tensor and its copies on other devices, made when first asked for."""

    def __init__(self, master: Tensor) -> None:
        self.master = master
        self.by_device: dict[Device, Tensor] = {}

    def get(self, device: Device) -> Tensor:
        found = self.by_device.get(device)
        if found is None:
            found = self.by_device[device] = self.master.to(device=device, copy=True)
        return found


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler(Scale):
    """Scale losses up, gradients back down, and skip steps whose gradients overflow.

    The scale begins at ``init_scale``. It is multiplied by ``backoff_factor`` after a
    step with infinities or NaNs, and by ``growth_factor`` after ``growth_interval``
    steps without. Disabled, which it is for "cuda" where there is none, it does nothing
    but pass things on.

    >>> import gradtape as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> sgd = torch.optim.SGD([w], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([4.])
    >>> scaler.step(sgd)
    >>> scaler.update()
    >>> w.grad, w
    (tensor([1.]), tensor([0.5000], requires_grad=True))
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not _cuda.is_available():
            warnings.warn(NO_CUDA, UserWarning, stacklevel=user_stacklevel())
            self._enabled = False
        if not self._enabled:
            return
        self._begin(init_scale, growth_factor, backoff_factor, growth_interval)
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state
        )

    # ---- one iteration -------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or those of nested iterables, by the scale."""
        if not self._enabled:
            return outputs
        copies: list[_Copies] = []

        def scaled(value: Any) -> Any:
            if isinstance(value, Tensor):
                if self._scale is None:
                    self._lazy_init_scale_growth_tracker(value.device)
                if not copies:
                    assert self._scale is not None
                    copies.append(_Copies(self._scale))
                return value * copies[0].get(value.device)
            if isinstance(value, Iterable):
                kept = map(scaled, value)
                return type(value)(kept) if isinstance(value, list | tuple) else kept
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")

        return scaled(outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, once per step.

        For programs that clip or read gradients before :meth:`step`, which otherwise
        does it. Raises RuntimeError when called twice or after the step.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last "
                "update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, inverse, _scalar(0.0, scale), False
        )
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> float | None:
        """Let the optimizer step unless a gradient is infinite or NaN.

        Returns what ``optimizer.step(*args, **kwargs)`` does, None for a skipped step.
        Raises RuntimeError for a closure, and for a second step before
        :meth:`update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled."
            )
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update()."
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            found = self._step_that_scales(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            found = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return found

    def _maybe_opt_step(
        self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> float | None:
        found = optimizer_state["found_inf_per_device"].values()
        if any(each.item() for each in found):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_that_scales(
        self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]
    ) -> float | None:
        """Hand the scale to an optimizer that unscales by itself, as fused ones do."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(PASSES_ITSELF, FutureWarning, stacklevel=user_stacklevel())
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._scale
        assert scale is not None
        own = getattr(optimizer, "grad_scale", None)
        if state["stage"] is OptState.UNSCALED:
            optimizer.grad_scale = own
        else:
            optimizer.grad_scale = scale * (1 if own is None else own)
        optimizer.found_inf = sum(
            each.to(scale.device) for each in state["found_inf_per_device"].values()
        )
        found = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale
        del optimizer.found_inf
        return found

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the next scale from what the steps found, or set it to a value."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            self._check_new_scale(new_scale)
            scale.copy_(new_scale)
        else:
            found = [
                each.to(device=scale.device)
                for state in self._per_optimizer_states.values()
                for each in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            total = found[0]
            for each in found[1:]:
                total += each
            update_scale(
                scale,
                tracker,
                total,
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # ---- gradients -----------------------------------------------------------------

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Device, Tensor]:
        """Unscale all gradients; return for each device whether one is not finite."""
        inverses, found = _Copies(inv_scale), _Copies(found_inf)
        groups: dict[tuple[Device, DType], list[Tensor]] = defaultdict(list)
        with no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        values = _values_to_unscale(param, allow_fp16)
                        groups[values.device, values.dtype].append(values)
            for (device, _), grads in groups.items():
                check_and_unscale(grads, found.get(device), inverses.get(device))
        return found.by_device

    def _check_inf_per_device(self, optimizer: Any) -> dict[Device, Tensor]:
        """Look for overflow and leave the gradients as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        found = self._unscale_grads_(
            optimizer, _scalar(1.0, scale), _scalar(0.0, scale), True
        )
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Device, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]


def _scalar(value: float, like: Tensor) -> Tensor:
    return FUNCTIONS["full"]((), value, dtype=float32, device=like.device)


def _values_to_unscale(param: Any, allow_fp16: bool) -> Tensor:
    """Return the gradient of a parameter, of a sparse one what is kept."""
    grad = param.grad
    if grad.dtype is float16 and not allow_fp16:
        raise ValueError("Attempting to unscale FP16 gradients.")
    if not grad.is_sparse:
        return grad
    if grad.dtype is float16:  # coalescing adds up what repeats, and may overflow
        grad = param.grad = grad.coalesce()
    return grad._values()
