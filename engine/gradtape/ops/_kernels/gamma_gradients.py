"""How gamma and Dirichlet samples move with their parameters, elementwise.

Both follow Jankowiak and Obermeyer, "Pathwise derivatives beyond the reparameterization
trick" (2018), with the regions and constants of PyTorch's kernels: series near the
edges, a saddle point for large parameters, a fitted rational function between.
Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._support.special import library

Region = tuple[Any, Callable[..., Any]]


def _by_region(xp: Any, regions: list[Region], *arrays: Any) -> Any:
    """Evaluate each element by the function of the first region it lies in."""
    found = xp.empty(arrays[0].shape, "float64")
    left = xp.ones(found.shape, "bool")
    for inside, function in regions:
        chosen = left & inside
        found[chosen] = function(xp, *(a[chosen] for a in arrays))
        left &= ~chosen
    return found


def _polynomial(coefficients: Any, x: Any) -> Any:
    """Return c0 + c1 x + c2 x^2 + …"""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _finite(xp: Any, found: Any) -> Any:
    return xp.where(xp.isnan(found), 0.0, found)


# ---- gamma ----


def gamma_slope(xp: Any, alpha: Any, sample: Any) -> Any:
    """Return d sample / d alpha of a gamma sample of rate 1."""
    a, x = alpha.astype("float64"), sample.astype("float64")
    near = (0.9 * a <= x) & (x <= 1.1 * a)
    regions: list[Region] = [
        (x < 0.8, _gamma_small),
        ((a > 8.0) & near, _gamma_saddle),
        (a > 8.0, _gamma_large),
        (xp.ones(x.shape, "bool"), _gamma_fitted),
    ]
    return _by_region(xp, regions, a, x).astype(alpha.dtype)


def _gamma_small(xp: Any, a: Any, x: Any) -> Any:
    """Differentiate the Taylor series of the distribution function at 0."""
    numerator, first, second = 1.0, 1.0 / a, 1.0 / a**2
    for i in range(1, 6):
        numerator = numerator * (-x / i)
        first = first + numerator / (a + i)
        second = second + numerator / (a + i) ** 2
    power = x**a
    change = (xp.log(x) - library(xp).digamma(a)) * power * first - power * second
    return _finite(xp, -change / (x ** (a - 1) * xp.exp(-x)))


def _gamma_saddle(xp: Any, a: Any, x: Any) -> Any:
    """Expand the saddle point around x = alpha, where it is 0 / 0."""
    scale = 1 + 24 * a * (1 + 12 * a)
    terms = 1440 * a**2 + 6 * x * (53 - 120 * x) - 65 * x**2 / a
    return scale * (terms + a * (107 + 3600 * x)) / (1244160 * a**4)


def _gamma_large(xp: Any, a: Any, x: Any) -> Any:
    """Rice's saddle point expansion, with Stirling's formula for gamma(alpha)."""
    log_ratio, root = xp.log(x / a), xp.sqrt(8 * a)
    bend = (x - a - a * log_ratio) ** -1.5
    inner = root / (a - x) - xp.where(x < a, bend, -bend)
    slope = log_ratio * inner - xp.sqrt(2 / a) * (a + x) / (a - x) ** 2
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return -stirling * x * slope / root


_GAMMA_FIT = (
    (
        *(0.16009398, -0.094634809, 0.025146376, -0.0030648343),
        *(1.0, 0.32668115, 0.10406089, 0.0014179084),
    ),
    (
        *(0.53487893, 0.1298071, 0.065735949, -0.0015649758),
        *(0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    ),
    (
        *(0.040121004, -0.0065914022, -0.0026286047, -0.0013441777),
        *(0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
    ),
)


def _gamma_fitted(xp: Any, a: Any, x: Any) -> Any:
    u, v = xp.log(x / a), xp.log(a)
    mixed = [_polynomial(column, u) for column in zip(*_GAMMA_FIT, strict=True)]
    return xp.exp(_polynomial(mixed[:4], v) / _polynomial(mixed[4:], v))


# ---- Dirichlet ----


def dirichlet_slope(xp: Any, x: Any, alpha: Any, total: Any) -> Any:
    """Return how a component moves with its own parameter; ``total`` sums them all.

    The formulas are those of the beta distribution of alpha and total - alpha.
    """
    kind = x.dtype
    x, a, total = (each.astype("float64") for each in (x, alpha, total))
    b, edge = total - a, total * x * (1 - x)
    regions: list[Region] = [
        ((x <= 0.5) & (edge < 2.5), _beta_near_0),
        (
            (x >= 0.5) & (edge < 0.75),
            lambda xp, x, a, b: -_beta_near_1(xp, 1 - x, b, a),
        ),
        ((a > 6) & (b > 6), _beta_large),
        (xp.ones(x.shape, "bool"), _beta_fitted),
    ]
    return _by_region(xp, regions, x, a, b).astype(kind)


def _beta_near_0(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Differentiate the series of the distribution function at 0 by alpha."""
    digamma = library(xp).digamma
    factor = digamma(a) - digamma(a + b) - xp.log(x)
    numerator, series = 1.0, (factor + 1 / a) / a
    for i in range(1, 11):
        numerator = numerator * ((i - b) * x / i)
        series = series + numerator / (a + i) * (factor + 1 / (a + i))
    return _finite(xp, x * (1 - x) ** -b * series)


def _beta_near_1(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Differentiate the same series by beta; used from the other end."""
    digamma = library(xp).digamma
    factor = digamma(a + b) - digamma(b)
    numerator, product, slope, series = 1.0, 1.0, 0.0, factor / a
    for i in range(1, 9):
        numerator = numerator * (-x / i)
        slope = slope * (b - i) + product
        product = product * (b - i)
        series = series + numerator / (a + i) * (slope + factor * product)
    return _finite(xp, -((1 - x) ** (1 - b)) * series)


def _beta_large(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Rice's saddle point for two large parameters."""
    total = a + b
    mean, deviation = a / total, xp.sqrt(a * b / (total + 1)) / total
    near = xp.abs(x - mean) <= 0.1 * deviation
    regions: list[Region] = [(near, _beta_at_mean), (~near, _beta_saddle)]
    return _by_region(xp, regions, x, a, b)


def _beta_at_mean(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Expand the saddle point around the mean, where it is 0 / 0."""
    total = a + b
    terms = (
        47 * x * b**4,
        (43 + 20 * (16 + 27 * b) * x) * b**3,
        3 * (59 + 180 * b - 90 * x) * b**2,
        (453 + 1620 * b * (1 - x) - 455 * x) * b,
        8 * (1 - x) * (135 * b - 11),
    )
    scale = (1 + 12 * a) * (1 + 12 * b) / total**2 / (1 - x)
    return scale * _polynomial(terms, a) / (12960 * a**3 * b**2 * (1 + 12 * total))


def _beta_saddle(xp: Any, x: Any, a: Any, b: Any) -> Any:
    total = a + b
    gap = a * (x - 1) + b * x
    curve = 2 * a**2 * (x - 1) + a * b * (x - 1) - x * b**2
    curve = curve / (xp.sqrt(2 * a / b) * total**1.5 * gap**2)
    base = b * xp.log(b / (total * (1 - x))) + a * xp.log(a / (total * x))
    bend = xp.where(x < a / total, 1.0, -1.0) * base**-1.5
    inner = xp.sqrt(8 * a * b / total) / gap + bend
    slope = curve + 0.5 * xp.log(a / (total * x)) * inner
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    return -stirling * x / xp.sqrt(2 * a * b / total) * slope


def _stirling(z: Any) -> Any:
    return 1 + 1 / (12 * z) + 1 / (288 * z**2)


# [numerator, denominator][power of log x][power of a][power of b]
_BETA_FIT = (
    (
        (
            (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
            (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
            (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
        ),
        (
            (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
            (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
            (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
        ),
        (
            (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
            (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
            (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
        ),
    ),
    (
        (
            (1.0, -0.02924021934, -0.04438342661, 0.007285809825),
            (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
            (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
        ),
        (
            (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
            (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
            (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
        ),
        (
            (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
            (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
            (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
        ),
    ),
)


def _beta_fitted(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Correct an analytic approximation by a fitted rational function."""
    digamma = library(xp).digamma
    total, u = a + b, xp.log(x)
    v = xp.log(a) - u
    w = xp.log(total) - v
    top, bottom = (
        _polynomial(
            [_polynomial([_polynomial(c, w) for c in row], v) for row in fit], u
        )
        for fit in _BETA_FIT
    )
    return top / bottom * x * (digamma(total) - digamma(a)) / b
