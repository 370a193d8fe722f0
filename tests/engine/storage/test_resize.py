"""Resizing and grid sampling give PyTorch's values, gradients, nodes and refusals."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as gt

from .._compare import graph_text
from ..oracle import assert_same

SPATIAL = {"1d": (5,), "2d": (4, 5), "3d": (2, 3, 4)}
MODES = [
    ("1d", "nearest"),
    ("1d", "nearest-exact"),
    ("1d", "linear"),
    ("1d", "area"),
    ("2d", "nearest"),
    ("2d", "nearest-exact"),
    ("2d", "bilinear"),
    ("2d", "bicubic"),
    ("2d", "area"),
    ("3d", "nearest"),
    ("3d", "nearest-exact"),
    ("3d", "trilinear"),
    ("3d", "area"),
]


def gradients(t: Any, result: Any, *sources: Any) -> list[Any]:
    """Return a result, its graph, and the gradients of a weighted sum of it."""
    weights = t.arange(1.0, result.numel() + 1, dtype=result.dtype)
    grads = t.autograd.grad((result.reshape(-1) * weights).sum(), sources)
    return [result, graph_text(result.grad_fn), [g.clone() for g in grads]]


# ---- interpolate ----


@pytest.mark.parametrize(("rank", "mode"), MODES)
@pytest.mark.parametrize(
    "target",
    [
        {"size": 3},
        {"size": 8},
        {"scale_factor": 2},
        {"scale_factor": 1.7},
        {"scale_factor": 0.6, "recompute_scale_factor": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_interpolate(rank: str, mode: str, target: dict[str, Any], dtype: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(2, 2, *SPATIAL[rank], dtype=getattr(t, dtype), requires_grad=True)
        found = [
            gradients(t, t.nn.functional.interpolate(x, mode=mode, **target), x),
        ]
        if mode not in ("nearest", "nearest-exact", "area"):
            cornered = t.nn.functional.interpolate(
                x, mode=mode, align_corners=True, **target
            )
            found.append(gradients(t, cornered, x))
        return found

    assert_same(program, rtol=1e-5 if dtype == "float64" else 2e-3)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(2, 3), (7, 3), (9, 11)], ids=str)
@pytest.mark.parametrize("align", [False, True])
def test_antialias(mode: str, size: tuple[int, int], align: bool) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(1, 2, 6, 7, dtype=t.float64, requires_grad=True)
        found = t.nn.functional.interpolate(
            x, size, mode=mode, align_corners=align, antialias=True
        )
        return gradients(t, found, x)

    assert_same(program)


def test_what_the_nodes_saved() -> None:
    def program(t: Any) -> Any:
        x = t.ones(1, 1, 2, 3, requires_grad=True)
        node = t.nn.functional.interpolate(x, scale_factor=2.5, mode="bilinear").grad_fn
        other = t.nn.functional.interpolate(x[0], size=2).grad_fn
        return [
            node._saved_output_size,
            node._saved_align_corners,
            node._saved_scales_h,
            node._saved_scales_w,
            other._saved_output_size,
            other._saved_scales,
        ]

    assert_same(program)


def test_other_types() -> None:
    def program(t: Any) -> Any:
        call = t.nn.functional.interpolate
        x = t.arange(12).reshape(1, 1, 3, 4)
        return [
            call(x.to(t.uint8), size=5),
            call(x.to(t.float16), size=5, mode="bilinear"),
            call((x * 20).to(t.uint8), size=(6, 8), mode="bilinear"),
        ]

    assert_same(program, rtol=2e-3)


def test_second_derivatives() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(1, 1, 3, 4, dtype=t.float64, requires_grad=True)
        found = []
        for mode in ("nearest", "bilinear", "bicubic"):
            y = t.nn.functional.interpolate(x, size=(5, 3), mode=mode)
            (first,) = t.autograd.grad(y.pow(3).sum(), x, create_graph=True)
            (second,) = t.autograd.grad(first.pow(2).sum(), x)
            found += [first.detach(), second]
        return found

    assert_same(program)


def test_one_bad_pixel_stays_where_it_is() -> None:
    x = gt.zeros(1, 1, 6, 6)
    x[0, 0, 0, 0] = float("nan")
    x.requires_grad_()
    found = gt.nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
    assert int(found.isnan().sum()) == 9
    found[0, 0, 11, 11].backward(gt.tensor(float("inf")))
    assert x.grad is not None
    assert int(x.grad.isfinite().sum()) == 35


def test_layers() -> None:
    def program(t: Any) -> Any:
        x = t.arange(4.0).reshape(1, 1, 2, 2)
        layers = [
            t.nn.Upsample(scale_factor=2),
            t.nn.Upsample((3, 4), mode="bilinear", align_corners=True),
            t.nn.Upsample(scale_factor=(1.5, 2), mode="bicubic"),
            t.nn.UpsamplingNearest2d(scale_factor=2),
            t.nn.UpsamplingBilinear2d(size=3),
        ]
        return [[layer(x) for layer in layers], [str(layer) for layer in layers]]

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.interpolate(x),
        lambda f, x: f.interpolate(x, size=3, scale_factor=2),
        lambda f, x: f.interpolate(x, size=(3,)),
        lambda f, x: f.interpolate(x, size=(3, 2.5)),
        lambda f, x: f.interpolate(x, scale_factor=(3,)),
        lambda f, x: f.interpolate(x, size=3, mode="linear"),
        lambda f, x: f.interpolate(x, size=3, mode="nope"),
        lambda f, x: f.interpolate(x, size=3, mode="lanczos"),
        lambda f, x: f.interpolate(
            x, size=3, mode="lanczos", antialias=True, align_corners=True
        ),
        lambda f, x: f.interpolate(x[0], size=3, mode="bilinear"),
        lambda f, x: f.interpolate(x[0], size=3, antialias=True),
        lambda f, x: f.interpolate(x[0, 0], size=3),
        lambda f, x: f.interpolate(x, size=3, align_corners=True),
        lambda f, x: f.interpolate(x, size=0),
        lambda f, x: f.interpolate(x, scale_factor=0.1, mode="bilinear"),
        lambda f, x: f.interpolate(x, size=3, recompute_scale_factor=True),
        lambda f, x: f.interpolate(x[None], size=3, mode="bicubic"),
        lambda f, x: f.interpolate(x.int(), size=3, mode="bilinear"),
        lambda f, x: f.upsample_nearest(x, size=3),
        lambda f, x: f.upsample_bilinear(x, scale_factor=2),
        lambda f, x: f.upsample(x, scale_factor=2),
    ],
)
def test_refusals_and_warnings(call: Any) -> None:
    assert_same(lambda t: call(t.nn.functional, t.ones(1, 2, 4, 5)))


# ---- grid_sample ----


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(
    ("spatial", "mode"),
    [
        ((4, 5), "bilinear"),
        ((4, 5), "nearest"),
        ((4, 5), "bicubic"),
        ((3, 4, 5), "bilinear"),
        ((3, 4, 5), "nearest"),
    ],
)
def test_grid_sample(
    spatial: tuple[int, ...], mode: str, align: bool, padding: str
) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        dims = len(spatial)
        x = t.randn(2, 3, *spatial, dtype=t.float64, requires_grad=True)
        places = t.randn(2, *(3,) * dims, dims, dtype=t.float64) * 1.5
        places.requires_grad_()
        found = t.nn.functional.grid_sample(x, places, mode, padding, align)
        return gradients(t, found, x, places)

    assert_same(program)


def test_affine_grid() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        found = []
        for size in ([2, 3, 4, 5], [2, 1, 3, 1, 4]):
            dims = len(size) - 2
            theta = t.randn(2, dims, dims + 1, dtype=t.float64, requires_grad=True)
            for align in (True, False):
                places = t.nn.functional.affine_grid(theta, size, align)
                found.append(gradients(t, places, theta))
        return found

    assert_same(program)


@pytest.mark.parametrize("pixels", [7, 16, 28])
def test_pixels_that_stay_lie_on_pytorchs_side_of_themselves(pixels: int) -> None:
    def program(t: Any) -> Any:
        still = t.eye(2, 3).unsqueeze(0)
        size = [1, 1, pixels, pixels]
        places = t.nn.functional.affine_grid(still, size, align_corners=False)
        return ((places + 1) * pixels - 1).div(2).floor()

    assert_same(program)


def test_a_turned_image() -> None:
    def program(t: Any) -> Any:
        image = t.arange(12.0).reshape(1, 1, 3, 4)
        theta = t.tensor([[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.2]]], requires_grad=True)
        places = t.nn.functional.affine_grid(theta, image.shape, align_corners=True)
        found = t.nn.functional.grid_sample(image, places, align_corners=True)
        found.pow(2).sum().backward()
        return [found, theta.grad]

    assert_same(program, rtol=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, f, x, g: f.grid_sample(x, g[..., :1]),
        lambda t, f, x, g: f.grid_sample(x, g[0]),
        lambda t, f, x, g: f.grid_sample(x, g, mode="x"),
        lambda t, f, x, g: f.grid_sample(x, g, padding_mode="x"),
        lambda t, f, x, g: f.grid_sample(
            x[None], t.zeros(1, 2, 2, 2, 3), mode="bicubic", align_corners=False
        ),
        lambda t, f, x, g: f.grid_sample(x, g.double(), align_corners=True),
        lambda t, f, x, g: f.grid_sample(x, t.zeros(2, 2, 2, 2)),
        lambda t, f, x, g: f.grid_sample(x[:, :, :0], g),
        lambda t, f, x, g: f.grid_sample(x, g),
        lambda t, f, x, g: f.affine_grid(t.ones(1, 2, 3), [1, 1, 2, 2]),
        lambda t, f, x, g: f.affine_grid(t.ones(1, 2, 2), [1, 1, 2, 2]),
        lambda t, f, x, g: f.affine_grid(t.ones(2, 2, 3), [1, 1, 2, 2]),
        lambda t, f, x, g: f.affine_grid(t.ones(1, 2, 3), [1, 1, 2]),
        lambda t, f, x, g: f.affine_grid(t.ones(1, 2, 3).int(), [1, 1, 2, 2]),
        lambda t, f, x, g: f.affine_grid(t.ones(1, 2, 3), [1, 1, 0, 2]),
    ],
)
def test_refused_grids(call: Any) -> None:
    def program(t: Any) -> Any:
        x, g = t.ones(1, 2, 4, 5), t.zeros(1, 2, 2, 2)
        return call(t, t.nn.functional, x, g)

    assert_same(program)
