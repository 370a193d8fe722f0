"""Calls of convolutions, pooling, normalisation, embeddings and borders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._record import Make, OpSample, Sample, sample

# ---- convolution ----


def conv(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    """Return convolutions of images of this size."""
    ones = (1,) * len(spatial)
    kernel = (3, 2, 2)[: len(spatial)]

    def samples(make: Make) -> Iterator[Sample]:
        image = make(2, 4, *spatial)
        yield sample(image, make(3, 4, *kernel), make(3))
        yield sample(image, make(3, 4, *kernel))
        yield sample(image, make(3, 4, *kernel), make(3), 2, 1)
        yield sample(image, make(3, 4, *kernel), make(3), dilation=2, padding=2)
        yield sample(image, make(4, 2, *kernel), make(4), groups=2)
        yield sample(image, make(8, 1, *kernel), groups=4)
        yield sample(image, make(3, 4, *ones), make(3))
        yield sample(image, make(3, 4, *kernel), padding="same")
        yield sample(make(4, *spatial), make(3, 4, *kernel), make(3))

    return samples


def valid(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4, 5, 4), make(3, 4, 3, 2), padding="valid")


def conv_refused(make: Make) -> Iterator[Sample]:
    weight = make(4, 3, 3, 3)
    yield sample(make(3), weight)
    yield sample(make(2, 5, 6, 6), weight)
    yield sample(make(2, 3, 2, 2), weight)
    yield sample(make(2, 3, 6, 6), weight, make(3))
    yield sample(make(2, 3, 6, 6), weight, stride=0)
    yield sample(make(2, 3, 6, 6), weight, padding=-1)
    yield sample(make(2, 3, 6, 6), weight, stride=(1, 1, 1))
    yield sample(make(2, 3, 6, 6), weight, padding="same", stride=2)
    yield sample(make(2, 3, 6, 6), weight, groups=2)


def conv_transpose(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    kernel = (3, 2, 2)[: len(spatial)]

    def samples(make: Make) -> Iterator[Sample]:
        image = make(2, 4, *spatial)
        yield sample(image, make(4, 3, *kernel), make(3))
        yield sample(image, make(4, 3, *kernel), None, 2, 1, 1)
        yield sample(image, make(4, 3, *kernel), make(3), dilation=2)
        yield sample(image, make(4, 2, *kernel), make(4), groups=2)
        yield sample(make(4, *spatial), make(4, 3, *kernel), make(3))

    return samples


def conv_transpose_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 5, 6, 6), make(4, 3, 3, 3))
    yield sample(make(2, 4, 6, 6), make(4, 3, 3, 3), output_padding=1)


def unfold(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4, 5), 2)
    yield sample(make(2, 3, 4, 5), (2, 3), padding=1, stride=2)
    yield sample(make(1, 1, 5, 5), 2, dilation=2)


def fold(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 12, 12), (4, 5), 2)
    yield sample(make(2, 12, 4), (4, 4), 2, stride=2)


# ---- pooling ----


def pool(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield sample(make.distinct(2, 3, *spatial), 2)
        yield sample(make.distinct(2, 3, *spatial), 3, 1)
        yield sample(make.distinct(2, 3, *spatial), 3, 2, 1)
        yield sample(make.distinct(2, 3, *spatial), 2, ceil_mode=True)
        yield sample(make.distinct(3, *spatial), 2)

    return samples


def max_pool(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield from pool(*spatial)(make)
        yield sample(make.distinct(2, 3, *spatial), 2, 1, 0, 2)
        yield sample(make.distinct(2, 3, *spatial), 2, return_indices=True)
        yield sample(make.distinct(2, 3, *spatial), 3, 2, 1, return_indices=True)

    return samples


def avg_pool(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield from pool(*spatial)(make)
        named: dict[str, Any] = {"padding": 1, "count_include_pad": False}
        yield sample(make(2, 3, *spatial), 3, 2, **named)
        yield sample(make(2, 3, *spatial), 3, 2, ceil_mode=True, **named)
        if len(spatial) > 1:
            yield sample(make(2, 3, *spatial), 2, divisor_override=3)

    return samples


def pool_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 2)
    yield sample(make(2, 3, 4, 4), 2, padding=2)
    yield sample(make(2, 3, 4, 4), 5)


def adaptive(*spatial: int) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        image = make.distinct(2, 3, *spatial)
        yield sample(image, 1)
        yield sample(image, 2)
        yield sample(image, 3)
        if len(spatial) == 2:
            yield sample(image, (None, 2))
        yield sample(make.distinct(3, *spatial), 2)

    return samples


def lp_pool(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4, 4, low=0.5), 2, 2)
    yield sample(make(2, 3, 4, 4, low=0.5), 3, 2, 1)


# ---- normalisation ----


def batch_norm(make: Make) -> Iterator[Sample]:
    for shape in ((4, 3), (4, 3, 2), (2, 3, 2, 2), (2, 3, 2, 2, 2)):
        yield sample(make(*shape), None, None, make(3), make(3), True)
    mean, var = make(3), make(3, low=0.5)
    yield sample(make(4, 3), None, None, None, None, True)
    yield sample(make(4, 3), mean, var, make(3), make(3), False)
    yield sample(make(2, 3, 2), mean, var, None, None, False)
    yield sample(make(4, 3), None, None, make(3), None, True, 0.1, 1e-2)


def batch_norm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(1, 3), None, None, None, None, True)
    yield sample(make(4, 3), None, None)
    yield sample(make(4, 3), make(2), make(2), None, None, True)
    yield sample(make(4, 3), None, None, make(2), None, True)


def layer_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), (3,), make(3), make(3))
    yield sample(make(4, 3), (3,))
    yield sample(make(2, 4, 3), (4, 3), make(4, 3), make(4, 3))
    yield sample(make(2, 4, 3), [3], make(3))
    yield sample(make(3), (3,), make(3), make(3), 1e-2)


def layer_norm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), (4,))
    yield sample(make(4, 3), (3,), make(4))


def group_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4, 3), 2, make(4), make(4))
    yield sample(make(2, 4, 3, 3), 4)
    yield sample(make(2, 4), 2, make(4), make(4))


def group_norm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), 2)


def instance_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), None, None, make(3), make(3))
    yield sample(make(2, 3, 4, 4))


def rms_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), (3,), make(3))
    yield sample(make(2, 4, 3), (4, 3))


def response_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 5, 3), 2)
    yield sample(make(2, 5, 3, 3), 3, 0.5, 0.75, 2.0)


# ---- embedding, borders, the rest ----


def embedding(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(2, 3, high=4, dtype="int64"), make(5, 2))
    yield sample(np.asarray([1, 1, 4, 0]), make(5, 2))
    yield sample(np.asarray(2), make(5, 2))


def embedding_of_none(make: Make) -> Iterator[Sample]:
    yield sample(np.zeros((0,), np.int64), make(5, 2))


def embedding_unlike_slopes(make: Make) -> Iterator[Sample]:
    yield sample(np.asarray([1, 1, 4, 0]), make(5, 2), 1)
    yield sample(np.asarray([1, 1, 4, 0]), make(5, 2), -1)
    yield sample(np.asarray([1, 1, 4, 0]), make(5, 2), scale_grad_by_freq=True)


def embedding_refused(make: Make) -> Iterator[Sample]:
    yield sample(np.asarray([5]), make(5, 2))
    yield sample(np.asarray([1.0]), make(5, 2))


def pad(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), (1, 2))
    yield sample(make(2, 3, 4), (1, 0, 0, 2), value=1.5)
    yield sample(make(2, 3, 4), (-1, 1))
    yield sample(make(2, 3, 4), (1, 2), "reflect")
    yield sample(make(2, 3, 4), (1, 2), "replicate")
    yield sample(make(1, 2, 3, 4), (1, 2, 2, 0), "reflect")
    yield sample(make(1, 2, 3, 4), (1, 2, 3, 0), "replicate")
    yield sample(make(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), "reflect")
    yield sample(make(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), "replicate")


def pad_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), (1, 2, 3))
    yield sample(make(2, 3, 4), (4, 0), "reflect")


def circular(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), (1, 2), "circular")
    yield sample(make(1, 2, 3, 4), (1, 2, 2, 0), "circular")


def shuffle(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4, 2, 2), 2)


F = "nn.functional."
DENSE = ("contiguous", "sliced")
OPS = (
    OpSample(F + "conv1d", conv(7)),
    OpSample(F + "conv2d", conv(5, 4), errors=conv_refused, layouts=DENSE),
    # PyTorch notes one zero for all dimensions.
    OpSample(F + "conv2d", valid, saved=False, variant="valid"),
    # Sums of 70 products, in another order in float32.
    OpSample(
        F + "conv3d",
        conv(4, 4, 3),
        layouts=("contiguous",),
        gradgradcheck=False,
        rtol=1e-3,
    ),
    OpSample(F + "conv_transpose1d", conv_transpose(4)),
    OpSample(
        F + "conv_transpose2d",
        conv_transpose(4, 3),
        errors=conv_transpose_refused,
        layouts=DENSE,
    ),
    OpSample(
        F + "conv_transpose3d",
        conv_transpose(3, 3, 2),
        layouts=("contiguous",),
        gradgradcheck=False,
    ),
    OpSample(F + "unfold", unfold),
    OpSample(F + "fold", fold),
    OpSample(F + "max_pool1d", max_pool(6)),
    OpSample(F + "max_pool2d", max_pool(6, 5), errors=pool_refused),
    OpSample(F + "max_pool3d", max_pool(4, 4, 4), layouts=DENSE, gradgradcheck=False),
    OpSample(F + "avg_pool1d", avg_pool(6)),
    OpSample(F + "avg_pool2d", avg_pool(6, 5), errors=pool_refused),
    OpSample(F + "avg_pool3d", avg_pool(4, 4, 4), layouts=DENSE, gradgradcheck=False),
    OpSample(F + "adaptive_avg_pool1d", adaptive(6)),
    OpSample(F + "adaptive_avg_pool2d", adaptive(6, 5)),
    OpSample(
        F + "adaptive_avg_pool3d", adaptive(4, 4, 4), layouts=DENSE, gradgradcheck=False
    ),
    OpSample(F + "adaptive_max_pool1d", adaptive(6)),
    OpSample(F + "adaptive_max_pool2d", adaptive(6, 5)),
    OpSample(F + "lp_pool2d", lp_pool),
    OpSample(F + "batch_norm", batch_norm, errors=batch_norm_refused, frozen=(1, 2)),
    OpSample(F + "layer_norm", layer_norm, errors=layer_norm_refused),
    # Groups of two values: what is left of the gradient is mostly rounding.
    OpSample(F + "group_norm", group_norm, errors=group_norm_refused, rtol=5e-3),
    OpSample(F + "instance_norm", instance_norm),
    OpSample(F + "rms_norm", rms_norm),
    OpSample(F + "local_response_norm", response_norm),
    OpSample(F + "embedding", embedding, errors=embedding_refused),
    # PyTorch's second derivative fails where no index is given.
    OpSample(F + "embedding", embedding_of_none, double=False, variant="none"),
    # A row for padding gets no gradient, and frequent ones less than their slope.
    OpSample(
        F + "embedding",
        embedding_unlike_slopes,
        gradcheck=False,
        gradgradcheck=False,
        variant="scaled",
    ),
    OpSample(F + "pad", pad, errors=pad_refused),
    # PyTorch writes into slices of an empty tensor; joining parts is one node.
    OpSample(F + "pad", circular, graph=False, saved=False, variant="circular"),
    OpSample(F + "pixel_shuffle", shuffle),
    OpSample(F + "pixel_unshuffle", shuffle),
    OpSample(F + "channel_shuffle", shuffle),
)
