"""Calls of the losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ._record import Make, OpSample, Sample, rough, sample

REDUCTIONS = ("mean", "sum", "none")


def regression(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield sample(make.distinct(2, 3), make(2, 3), reduction=reduction)
    yield sample(make.distinct(3), make(3))


def regression_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2), make(2), reduction="max")


def smooth_l1(make: Make) -> Iterator[Sample]:
    yield from regression(make)
    yield sample(make.distinct(2, 3), make(2, 3), beta=0.3)


def huber(make: Make) -> Iterator[Sample]:
    yield from regression(make)
    yield sample(make.distinct(2, 3), make(2, 3), delta=0.3)


def huber_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2), make(2), delta=0.0)


def probabilities(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        p, t = make(2, 3, low=0.1, high=0.9), make(2, 3, low=0.1, high=0.9)
        yield sample(p, t, reduction=reduction)
    yield sample(p, t, make(3, low=0.5))


def certain(make: Make) -> Iterator[Sample]:
    yield rough(np.asarray([0.0, 1.0, 0.5], make.dtype), make(3, low=0.1, high=0.9))


def probabilities_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, low=0, high=1), make(3, low=0, high=1))
    yield sample(np.asarray([1.5, 0.5], make.dtype), make(2, low=0, high=1))


def logits(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        t = make(2, 3, low=0.1, high=0.9)
        yield sample(make(2, 3), t, reduction=reduction)
    yield sample(make(2, 3), t, make(3, low=0.5))
    positive = make(3, low=0.5)
    yield sample(make(2, 3), t, None, None, None, "mean", positive)
    yield sample(make(3, low=50, high=900), make(3, low=0, high=1))


def logits_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3))


def classes(*shape: int) -> Callable[[Make], Iterator[Sample]]:
    """Return calls on scores (N, 3, …) with class indices."""

    def samples(make: Make) -> Iterator[Sample]:
        target = make.ints(4, *shape, high=2)
        for reduction in REDUCTIONS:
            yield sample(make(4, 3, *shape), target, reduction=reduction)
        yield sample(make(4, 3, *shape), target, make(3, low=0.5))
        yield sample(make(4, 3, *shape), target, ignore_index=1)
        weight = make(3, low=0.5)
        yield sample(make(4, 3, *shape), target, weight, None, 0, None, "sum")

    return samples


def one_sample(make: Make) -> Iterator[Sample]:
    yield sample(make(3), np.asarray(1))


def classes_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), make.ints(5, high=2))
    yield sample(make(4, 3), np.asarray([0, 1, 2, 3]))


def smoothed(make: Make) -> Iterator[Sample]:
    target = make.ints(4, high=2)
    for reduction in REDUCTIONS:
        yield sample(make(4, 3), target, reduction=reduction, label_smoothing=0.1)
    yield sample(make(4, 3), target, make(3, low=0.5), label_smoothing=0.1)
    yield sample(make(4, 3), target, ignore_index=1, label_smoothing=0.2)


def soft_targets(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield sample(make(4, 3), make(4, 3, low=0, high=1), reduction=reduction)
    yield sample(make(4, 3), make(4, 3, low=0, high=1), make(3, low=0.5))
    yield sample(make(4, 3), make(4, 3, low=0, high=1), label_smoothing=0.1)
    yield sample(make(2, 3, 2), make(2, 3, 2, low=0, high=1))


def kl_div(make: Make) -> Iterator[Sample]:
    for reduction in ("batchmean", "sum", "none"):
        target = make(2, 3, low=0.1, high=0.9)
        yield sample(make(2, 3), target, reduction=reduction)
    yield sample(make(2, 3), make(2, 3), reduction="sum", log_target=True)


def signs(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        target = np.asarray([[1, -1, 1], [-1, 1, -1]], make.dtype)
        yield sample(make.distinct(2, 3), target, reduction=reduction)


def pairs(make: Make) -> Iterator[Sample]:
    target = np.asarray([1, -1, 1, -1])
    for reduction in REDUCTIONS:
        yield sample(make(4, 3), make(4, 3), target, margin=0.2, reduction=reduction)


def ranking(make: Make) -> Iterator[Sample]:
    target = np.asarray([1, -1, 1])
    for reduction in REDUCTIONS:
        yield sample(make.distinct(3), make(3), target, 0.5, reduction=reduction)


def triplets(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield sample(make(4, 3), make(4, 3), make(4, 3), reduction=reduction)
    yield sample(make(4, 3), make(4, 3), make(4, 3), p=3, margin=2.0)


def margins(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        target = make.ints(4, high=2)
        yield sample(make(4, 3), target, reduction=reduction)
    yield sample(make(4, 3), target, p=2)
    # The weight of classes takes no gradient.


def label_lists(make: Make) -> Iterator[Sample]:
    target = np.asarray([[2, 0, -1], [1, -1, 0]])
    for reduction in REDUCTIONS:
        yield sample(make(2, 3), target, reduction=reduction)


def label_bits(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2, 3, low=0, high=1))


def counts(make: Make) -> Iterator[Sample]:
    target = make(2, 3, low=0.5, high=5)
    yield sample(make(2, 3), target)
    yield sample(make(2, 3), target, full=True, reduction="sum")
    yield sample(make(2, 3, low=0.5), target, log_input=False)


def gaussians(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        variance = make(2, 3, low=0.5)
        yield sample(make(2, 3), make(2, 3), variance, reduction=reduction)
    yield sample(make(2, 3), make(2, 3), make(2, 1, low=0.5), full=True)


F = "nn.functional."
LAID_OUT = ("contiguous", "transposed", "sliced")
OPS = (
    OpSample(F + "mse_loss", regression, errors=regression_refused),
    OpSample(F + "l1_loss", regression, errors=regression_refused),
    OpSample(F + "smooth_l1_loss", smooth_l1),
    OpSample(F + "huber_loss", huber, errors=huber_refused),
    OpSample(F + "soft_margin_loss", signs, frozen=(1,)),
    OpSample(
        F + "binary_cross_entropy",
        probabilities,
        errors=probabilities_refused,
        frozen=(2,),
        layouts=LAID_OUT,
    ),
    # Where the logarithm is cut, second derivatives are left as they come.
    OpSample(F + "binary_cross_entropy", certain, double=False, variant="certain"),
    OpSample(
        F + "binary_cross_entropy_with_logits",
        logits,
        errors=logits_refused,
        frozen=(2, 6),
        layouts=LAID_OUT,
    ),
    OpSample(F + "nll_loss", classes(), frozen=(2,), errors=classes_refused),
    OpSample(F + "nll_loss", one_sample, variant="one"),
    # PyTorch's backward refuses what lies transposed.
    OpSample(
        F + "nll_loss",
        classes(2, 2),
        frozen=(2,),
        layouts=("contiguous", "sliced"),
        variant="2d",
    ),
    OpSample(F + "nll_loss", classes(2), frozen=(2,), variant="1d"),
    OpSample(F + "cross_entropy", classes(), frozen=(2,), errors=classes_refused),
    OpSample(F + "cross_entropy", classes(2, 2), frozen=(2,), variant="2d"),
    OpSample(F + "cross_entropy", one_sample, variant="one"),
    OpSample(F + "cross_entropy", smoothed, frozen=(2,), variant="smoothed"),
    OpSample(F + "cross_entropy", soft_targets, frozen=(2,), variant="soft"),
    OpSample(F + "kl_div", kl_div),
    OpSample(F + "hinge_embedding_loss", signs, frozen=(1,)),
    OpSample(F + "cosine_embedding_loss", pairs),
    OpSample(F + "margin_ranking_loss", ranking),
    OpSample(F + "triplet_margin_loss", triplets),
    OpSample(
        F + "multi_margin_loss",
        margins,
        double=False,
        gradgradcheck=False,
        layouts=("contiguous",),  # PyTorch refuses others in backward
    ),
    OpSample(
        F + "multilabel_margin_loss",
        label_lists,
        double=False,
        gradgradcheck=False,
        layouts=("contiguous",),  # PyTorch refuses others in backward
    ),
    OpSample(F + "multilabel_soft_margin_loss", label_bits),
    OpSample(F + "poisson_nll_loss", counts, frozen=(1,)),
    OpSample(F + "gaussian_nll_loss", gaussians),
)
