"""Calls on complex tensors, where gradients are conjugated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._record import COMPLEX, Make, OpSample, Sample, sample

Calls = Callable[[Make], Iterator[Sample]]


def one(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make())


def two(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3))
    yield sample(make(2, 3), make(3).real.copy())
    yield sample(make(3).real.copy(), make(2, 3))
    yield sample(make(2, 3), 2.5)
    yield sample(make(2, 3), 1 + 2j)
    yield sample(make(3).real.copy(), 1 + 2j)


def scaled(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3), alpha=1 + 2j)


def along(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(2, 3), 0)


def running(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 0)


def turned(make: Make) -> Iterator[Sample]:
    """Yield numbers whose logarithm does not turn back into them."""
    yield sample(make(2, 3, low=-9, high=9), 0)
    yield sample(make(2, 3, low=-9, high=9), (0, 1))


def convolved(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4, 7), make(4, 2, 3), make(2 * 2), 2, 1, groups=2)
    yield sample(make(2, 4, 5), make(4, 4, 3))


def spread(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(4, 3), 0, correction=0)


def chosen(make: Make) -> Iterator[Sample]:
    yield sample(make.bools(2, 3), make(2, 3), make(3))


def mixed(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3), 0.3)
    yield sample(make(2, 3), make(3), make(2, 1))


def products(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3), make(2, 1))
    yield sample(make(2, 3), make(3), make(2, 1), value=2)


def _entries(names: str, samples: Calls) -> Iterator[OpSample]:
    for name in names.split():
        yield OpSample(name, samples, COMPLEX, variant="complex")


OPS = (
    *_entries("neg abs sgn exp exp2 expm1 log log2 log10 log1p sqrt rsqrt", one),
    *_entries("reciprocal square sin cos tan asin acos atan sinh cosh tanh", one),
    *_entries("asinh acosh atanh sigmoid positive", one),
    # PyTorch's conjugate is a view that remembers to conjugate; ours is a copy.
    OpSample("conj", one, COMPLEX, variant="complex", strides=False),
    # PyTorch keeps the dimension of the pairs counted from the front.
    OpSample("real", one, COMPLEX, variant="complex", saved=False),
    OpSample("imag", one, COMPLEX, variant="complex", saved=False),
    *_entries("isnan isfinite isinf logical_not", one),
    *_entries("add sub mul div pow eq ne rsub", two),
    OpSample("add", scaled, COMPLEX, variant="complex_alpha"),
    OpSample("sub", scaled, COMPLEX, variant="complex_alpha"),
    *_entries("var std var_mean", spread),
    *_entries("sum mean", along),
    *_entries("prod cumsum cumprod", running),
    *_entries("logsumexp", turned),
    # PyTorch convolves real and imaginary parts, and records that.
    OpSample(
        "nn.functional.conv1d", convolved, COMPLEX, variant="complex", graph=False
    ),
    OpSample(
        "nn.functional.conv_transpose1d",
        lambda make: [sample(make(2, 4, 5), make(4, 3, 3), make(3), 2)],
        COMPLEX,
        variant="complex",
        graph=False,
    ),
    *_entries("where", chosen),
    *_entries("lerp", mixed),
    *_entries("addcmul addcdiv", products),
)
