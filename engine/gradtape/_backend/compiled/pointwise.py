"""Functions of each element, and their slopes, over flat arrays.

``found`` is written; what a kernel of slopes finds there is the gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..normal_terms import INV_ROOT_TAU
from ._jit import kernel
from .functions import ONE, ZERO, exp, normal_share, power_of_two

_INV_ROOT_TAU = np.float32(INV_ROOT_TAU)
_HALVED = np.float32(-0.5 * math.log2(math.e))
_TWO, _THREE = "f4[::1], f4[::1]", "f4[::1], f4[::1], f4[::1]"


@kernel(_TWO)
def sigmoid(found: Any, x: Any) -> None:
    for i in range(found.size):
        found[i] = ONE / (ONE + exp(-x[i]))


@kernel(_TWO)
def sigmoid_slope(found: Any, y: Any) -> None:
    for i in range(found.size):
        found[i] *= (ONE - y[i]) * y[i]


@kernel(_TWO)
def tanh_slope(found: Any, y: Any) -> None:
    for i in range(found.size):
        found[i] *= ONE - y[i] * y[i]


@kernel(_TWO)
def zero_unless_above(found: Any, y: Any) -> None:
    for i in range(found.size):
        found[i] = ZERO if y[i] <= ZERO else found[i]


@kernel(f"{_THREE}, f4[::1]")
def divisor_slope(found: Any, grad: Any, x: Any, y: Any) -> None:
    for i in range(found.size):
        found[i] = x[i] / -y[i] / y[i] * grad[i]


@kernel(f"{_TWO}, f4")
def add_scaled(found: Any, x: Any, factor: Any) -> None:
    for i in range(found.size):
        found[i] += factor * x[i]


@kernel(_TWO)
def gelu(found: Any, x: Any) -> None:
    for i in range(found.size):
        found[i] = x[i] * normal_share(x[i])


@kernel(_TWO)
def gelu_slope(found: Any, x: Any) -> None:
    for i in range(found.size):
        density = power_of_two(x[i] * x[i] * _HALVED) * _INV_ROOT_TAU
        found[i] *= normal_share(x[i]) + x[i] * density
