"""The ops of gradient scaling: divide gradients, look for overflow, choose a scale."""

from __future__ import annotations

from collections.abc import Iterable

from .._backend import backend_of
from .._dispatch.declare import public
from .._dispatch.inplace import note_write
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor


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
