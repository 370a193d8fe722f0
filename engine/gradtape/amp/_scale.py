"""The scale of a GradScaler: its value, what governs it, and saving it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from .._backend import backend_of
from .._backend.device import device as Device
from .._dispatch.declare import FUNCTIONS, public
from .._dispatch.inplace import note_write
from .._dtypes import float32, int32
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor

NOT_SCALED: Final = (
    "Attempted {name} but {missing} is None.  This may indicate your script did not "
    "use scaler.scale(loss or outputs) earlier in the iteration."
)
BAD_SCALE: Final = (
    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
    "torch.FloatTensor with requires_grad=False."
)
EMPTY_STATE: Final = (
    "The source state dict is empty, possibly because it was saved from a disabled "
    "instance of GradScaler."
)
MID_ITERATION: Final = (
    "A GradScaler instance may only be pickled at the beginning of an iteration, or "
    "at the end after scaler.update()."
)


class Scale:
    """A number that grows and shrinks, kept in a tensor where the losses are."""

    _device: str
    _enabled: bool
    _per_optimizer_states: defaultdict[int, dict[str, Any]]

    def _begin(
        self,
        init_scale: float,
        growth_factor: float,
        backoff_factor: float,
        growth_interval: int,
    ) -> None:
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made where the first loss is
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None

    def _lazy_init_scale_growth_tracker(self, dev: Device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        full = FUNCTIONS["full"]
        self._scale = full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = full(
            (), self._init_growth_tracker, dtype=int32, device=dev
        )

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        for missing in ("_scale", "_growth_tracker"):
            if getattr(self, missing) is None:
                raise AssertionError(NOT_SCALED.format(name=funcname, missing=missing))
        assert self._scale is not None
        assert self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale, 1.0 where scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def get_growth_factor(self) -> float:
        """Return what the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose after how many steps without overflow the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Tell whether this scaler does anything."""
        return self._enabled

    def _check_new_scale(self, new_scale: Any) -> None:
        if (
            new_scale.device.type != self._device
            or new_scale.numel() != 1
            or new_scale.requires_grad
        ):
            raise AssertionError(BAD_SCALE)

    # ---- saving --------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and what governs it; nothing where scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned.

        Raises RuntimeError for the state of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(EMPTY_STATE)
        self._init_scale = float(state_dict["scale"])
        self._growth_factor = float(state_dict["growth_factor"])
        self._backoff_factor = float(state_dict["backoff_factor"])
        self._growth_interval = int(state_dict["growth_interval"])
        self._init_growth_tracker = int(state_dict["_growth_tracker"])
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(MID_ITERATION)
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


# ---- the ops of gradient scaling ----


@public
def _amp_foreach_non_finite_check_and_unscale_(
    self: Iterable[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply gradients by ``inv_scale``; set ``found_inf`` to 1 if one is not finite.

    Both are float32 tensors of one element.
    """
    factor = inv_scale._data
    for grad in self:
        xp, values = backend_of(grad._data).xp, grad._data
        finite = mode.run(xp.isfinite, values)
        if not bool(finite.all()):
            found_inf._data[...] = 1
        if float(factor.item()) != 1.0:
            wide = mode.run(xp.multiply, values.astype(factor.dtype), factor)
            mode.run(values.__setitem__, ..., wide)
        note_write(grad, "_amp_foreach_non_finite_check_and_unscale_")


@public
def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Shrink the scale after an overflow; grow it after enough steps without one.

    A scale that would become infinite stays as it is.
    """
    scale = self.item()
    if found_inf.item():
        self.fill_(scale * scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    steps = growth_tracker.item() + 1
    if steps == growth_interval:
        grown = self * scale_growth_factor
        if bool(grown.isfinite()):
            self.copy_(grown)
        steps = 0
    growth_tracker.fill_(steps)
    return self
