"""Resizing, grid sampling, attention and packing: sample calls."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import Make, OpSample, Sample, sample


def interpolate(make: Make) -> Iterator[Sample]:
    yield sample(make(1, 2, 3), scale_factor=2)
    yield sample(make(1, 2, 5), size=3, mode="linear", align_corners=True)
    yield sample(make(1, 2, 3, 4), size=(5, 2), mode="bilinear")
    yield sample(make(1, 1, 3, 4), size=(4, 4), mode="bicubic")
    yield sample(make(1, 1, 2, 3, 2), size=3, mode="trilinear")


def grid_sample(make: Make) -> Iterator[Sample]:
    places = make(1, 2, 2, 2, low=-0.8, high=0.8)
    yield sample(make(1, 2, 4, 5), places, align_corners=False)
    yield sample(make(1, 1, 4, 5), places, padding_mode="border", align_corners=True)


def affine_grid(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 2, 3), [2, 1, 3, 4], align_corners=False)


def attention(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), make(2, 5, 4), make(2, 5, 4))
    yield sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), is_causal=True)
    yield sample(make(3, 4), make(5, 4), make(5, 2), make(3, 5))


OPS = (
    OpSample("nn.functional.interpolate", interpolate),
    # PyTorch has no second derivative either.
    OpSample(
        "nn.functional.grid_sample", grid_sample, double=False, gradgradcheck=False
    ),
    OpSample("nn.functional.affine_grid", affine_grid),
    OpSample("nn.functional.scaled_dot_product_attention", attention),
)
