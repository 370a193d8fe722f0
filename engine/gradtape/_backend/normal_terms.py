"""Constants of the normal distribution, for kernels of NumPy and of numba."""

from __future__ import annotations

from math import pi, sqrt

INV_ROOT_TAU = 1 / sqrt(2 * pi)

# erf(x) = tanh(x * p(x * x)). The polynomial p was fitted, by least squares with
# weights raised where the error was largest, on 0 < x < 4, beyond which erf is 1. Its
# relative error there is 9.5e-8 at most; computed in float32, 2.5e-7. It stays above
# its first value for all x. In terms of x / sqrt(2) it begins as gelu's well-known
# approximation does (Hendrycks and Gimpel, 2016).
ERF_TERMS = (
    1.418930035180517e-07,
    -5.669015903618716e-06,
    8.763979723337874e-05,
    -6.197893943881161e-04,
    -1.9182711614320518e-04,
    1.0276905486602805e-01,
    1.1283792743384782,
)
GELU_TERMS = tuple(
    term * sqrt(0.5) * 0.5**power
    for term, power in zip(ERF_TERMS, range(len(ERF_TERMS) - 1, -1, -1), strict=True)
)
