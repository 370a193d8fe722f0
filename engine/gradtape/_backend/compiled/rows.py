"""Layer normalisation of the rows of a matrix, the way back, and that of softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import kernel
from .functions import ONE, ZERO

_ROWS, _EACH = "f4[:,::1]", "f4[::1]"


@kernel(f"{_ROWS}, {_EACH}, {_EACH}, {_ROWS}, {_EACH}, {_EACH}, f4", sums=True)
def layer(
    found: Any, means: Any, rstds: Any, x: Any, weight: Any, bias: Any, eps: Any
) -> None:
    """Write the rows, their means and what their deviations are divided by."""
    size = np.float32(x.shape[1])
    columns = range(x.shape[1])
    for row in range(x.shape[0]):
        values, into = x[row], found[row]
        total = ZERO
        for i in columns:
            total += values[i]
        mean = total / size
        squares = ZERO
        for i in columns:
            apart = values[i] - mean
            squares += apart * apart
        rstd = ONE / np.sqrt(squares / size + eps)
        for i in columns:
            into[i] = (values[i] - mean) * rstd * weight[i] + bias[i]
        means[row], rstds[row] = mean, rstd


@kernel(f"{_ROWS}, {_EACH}, {_EACH}, {', '.join([_ROWS] * 2 + [_EACH] * 3)}", sums=True)
def layer_back(
    found: Any,
    into_weight: Any,
    into_bias: Any,
    grad: Any,
    x: Any,
    means: Any,
    rstds: Any,
    weight: Any,
) -> None:
    """Write the gradient of the rows; add those of weight and bias to what is there."""
    size = np.float32(x.shape[1])
    columns = range(x.shape[1])
    for row in range(x.shape[0]):
        values, outer, into = x[row], grad[row], found[row]
        mean, rstd = means[row], rstds[row]
        for i in columns:
            into_weight[i] += outer[i] * ((values[i] - mean) * rstd)
        for i in columns:
            into_bias[i] += outer[i]
        along, level = ZERO, ZERO
        for i in columns:
            scaled = outer[i] * weight[i]
            along += scaled * (values[i] - mean)
            level += scaled
        along *= rstd * rstd / size
        level /= size
        for i in columns:
            scaled = outer[i] * weight[i]
            into[i] = (scaled - level - (values[i] - mean) * along) * rstd


@kernel(", ".join([_ROWS] * 3), sums=True)
def softmax_back(found: Any, grad: Any, output: Any) -> None:
    """Write ``(grad - sum(grad * output)) * output``."""
    columns = range(output.shape[1])
    for row in range(output.shape[0]):
        outer, values, into = grad[row], output[row], found[row]
        total = ZERO
        for i in columns:
            total += outer[i] * values[i]
        for i in columns:
            into[i] = (outer[i] - total) * values[i]
