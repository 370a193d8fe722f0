"""Check derivatives by finite differences, one input element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import autograd
from gradtape._tensor import Tensor, wrap

STEP = 1e-6
RTOL, ATOL = 1e-4, 1e-6
Function = Callable[[], Sequence[Tensor]]


def gradient_errors(
    function: Function, inputs: Sequence[Tensor], seed: int = 0, rtol: float = RTOL
) -> Iterator[str]:
    """Yield where the gradient of ``function`` is not its slope.

    ``function`` computes its outputs from ``inputs`` anew at each call, whose memory
    is changed in between. All outputs are checked at once, weighted at random.
    """
    outputs = [o for o in function() if o.requires_grad]
    if not outputs:
        return
    random = np.random.default_rng(seed)
    weights = [random.uniform(0.5, 1.5, o.shape) for o in outputs]
    found = autograd.grad(
        outputs, inputs, [wrap(w) for w in weights], allow_unused=True
    )
    which = [i for i, o in enumerate(function()) if o.requires_grad]

    def weighted() -> float:
        values = function()
        pairs = zip(which, weights, strict=True)
        return float(sum(np.vdot(w, values[i]._data) for i, w in pairs))

    for number, (tensor, grad) in enumerate(zip(inputs, found, strict=True)):
        slopes = _slopes(weighted, tensor._data)
        given = np.zeros(slopes.shape) if grad is None else grad._data
        close = np.isclose(given, slopes, rtol, ATOL)
        if not close.all():
            at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(close)))
            yield (
                f"d/d input {number}[{', '.join(map(str, at))}] is "
                f"{np.atleast_1d(given)[at]}, "
                f"should be roughly {np.atleast_1d(slopes)[at]}"
            )


def second_gradient_errors(
    function: Function, inputs: Sequence[Tensor], seed: int = 0
) -> Iterator[str]:
    """Yield where the gradient of the gradient of ``function`` is not its slope."""
    random = np.random.default_rng(seed + 1)
    weights = [
        wrap(random.uniform(0.5, 1.5, o.shape)).requires_grad_()
        for o in function()
        if o.requires_grad
    ]
    if not weights:
        return

    def gradients() -> list[Tensor]:
        outputs = [o for o in function() if o.requires_grad]
        found = autograd.grad(
            outputs, inputs, weights, create_graph=True, allow_unused=True
        )
        return [g for g in found if g is not None]

    yield from gradient_errors(gradients, [*inputs, *weights], seed, rtol=1e-3)


def _slopes(value: Callable[[], float], memory: Any) -> Any:
    slopes = np.zeros(memory.shape)
    for at in np.ndindex(memory.shape):
        before = memory[at]
        memory[at] = before + STEP
        above = value()
        memory[at] = before - STEP
        below = value()
        memory[at] = before
        slopes[at] = (above - below) / (2 * STEP)
    return slopes
