"""Calls of the activations and of softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._record import Make, OpSample, Sample, rough, sample
from ._shapes import unary

_SMOOTH = ("silu", "mish", "logsigmoid", "softsign", "tanhshrink", "softplus")


def kinked(*at: float) -> Callable[[Make], Iterator[Sample]]:
    """Return calls on values that keep away from the kinks, and one right at them."""

    def samples(make: Make) -> Iterator[Sample]:
        for shape in ((2, 3), (), (2, 0)):
            yield sample(np.asarray(make.distinct(*shape) + 0.07, make.dtype))
        yield sample(make(4, low=3.5, high=8))
        yield sample(make(4, low=-8, high=-3.5))
        # No NaN: PyTorch's vector code and its scalar code treat it differently.
        yield rough(np.asarray([0, -0.0, np.inf, -np.inf, 1, -1, 2.5, 0.5], make.dtype))
        if at:
            yield rough(np.asarray(at, make.dtype))

    return samples


def with_options(*options: Any, **named: Any) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield sample(make.distinct(2, 3) + 0.07, *options, **named)

    return samples


def prelu(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3) + 0.07, make(3))
    yield sample(make.distinct(2, 3) + 0.07, make(1))
    yield sample(make.distinct(2, 3, 2) + 0.07, make(3))
    yield sample(make.distinct(3) + 0.07, make(1))


def prelu_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2))
    yield sample(make(2, 3), make(3, 1))


def glu(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 6))
    yield sample(make(4, 6), 0)
    yield sample(make(2, 4, 3), 1)


def glu_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 5))
    yield sample(make())


def along(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 1)
    yield sample(make(2, 3), 0)
    yield sample(make(2, 3, 4), -2)
    yield sample(make(), 0)
    yield sample(make(0, 3), 1)
    yield sample(make(2, 3, low=90, high=2000), dim=1)


def along_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 2)


def normalize(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, low=0.5))
    yield sample(make(2, 3, low=0.5), dim=0)
    yield sample(make(2, 3, low=0.5), p=3.0)


F = "nn.functional."
OPS = (
    OpSample(F + "relu", kinked(0.0)),
    OpSample(F + "leaky_relu", kinked(0.0)),
    OpSample(F + "leaky_relu", with_options(0.3), variant="slope"),
    OpSample(F + "elu", kinked(0.0)),
    OpSample(F + "elu", with_options(0.7), variant="alpha"),
    OpSample(F + "selu", kinked(0.0)),
    OpSample(F + "celu", kinked(0.0)),
    OpSample(F + "celu", with_options(0.7), variant="alpha"),
    OpSample(F + "hardtanh", kinked(-1.0, 1.0)),
    OpSample(F + "relu6", kinked(0.0, 6.0)),
    OpSample(F + "hardsigmoid", kinked(-3.0, 3.0), double=False),
    OpSample(F + "hardswish", kinked(-3.0, 3.0)),
    OpSample("hardshrink", kinked(-0.5, 0.5)),
    OpSample(F + "softshrink", kinked(-0.5, 0.5)),
    OpSample(F + "threshold", with_options(0.2, 3.0)),
    OpSample(F + "softplus", with_options(2.0, 1.0), variant="beta"),
    OpSample(F + "gelu", with_options(approximate="tanh"), variant="tanh"),
    # PyTorch's float32 gives NaN for gelu of infinity, its float64 infinity.
    OpSample(F + "gelu", unary(special=False)),
    *(OpSample(F + name, unary()) for name in _SMOOTH),
    OpSample(F + "prelu", prelu, errors=prelu_refused),
    OpSample(F + "glu", glu, errors=glu_refused),
    OpSample("softmax", along, errors=along_refused),
    OpSample("log_softmax", along, errors=along_refused),
    OpSample(F + "softmin", along),
    OpSample(F + "normalize", normalize),
)
