"""Resizing of sequences, images and volumes: one op per mode and rank, as PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..._dispatch.declare import Array
from .._kernels.interpolate import Sizes, resized, spread_back
from .._support.matrix_product import scalar_name
from .._support.memory_formats import keeps_format
from .._support.operands import hidden_op

_LETTERS = ("W", "H", "D")


def _check(name: str, kind: str, self: Any, sizes: Sizes) -> None:
    dims = self.ndim - 2
    spatial = self.shape[2:]
    if len(sizes) != dims:
        raise RuntimeError(
            f"It is expected output_size equals to {dims}, but got size {len(sizes)}"
        )
    if min((*spatial, *sizes)) <= 0:
        letters = _LETTERS[:dims][::-1]

        def text(given: Any) -> str:
            pairs = zip(letters, given, strict=True)
            return ", ".join(f"{letter}: {n}" for letter, n in pairs)

        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({text(spatial)}) output ({text(sizes)})"
        )
    whole = (*self.shape[:2], *sizes)
    if prod(whole) * self.itemsize >= 2**63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(whole)}"
        )
    bytes_too = kind.startswith("nearest") or dims == 2
    whole = self.dtype.kind in "biuc" and not (bytes_too and self.dtype.char == "B")
    if whole or (kind.endswith("_aa") and self.dtype.itemsize == 2):
        raise NotImplementedError(
            f'"{_kernel(name, kind, dims, sizes)}" not implemented for '
            f"'{scalar_name(self)}'"
        )


def _kernel(name: str, kind: str, dims: int, sizes: Sizes) -> str:
    """Return what PyTorch calls the kernel that a call comes to."""
    if kind.endswith("_aa"):
        return "compute_index_ranges_weights"
    if dims == 2 and kind != "cubic" and sum(sizes) <= 128:
        plain = name.replace("_upsample_nearest_exact", "upsample_nearest")
        return f"{plain}_channels_last"
    return f"compute_indices_weights_{kind.partition('-')[0]}"


def _backward(kind: str) -> Callable[..., Any]:
    def back(
        F: Any, grad: Any, shape: Any, sizes: Any, align: bool, scales: Any
    ) -> Any:
        return F._resize_backward(grad, tuple(shape), kind, sizes, align, scales)

    return back


@hidden_op(
    {
        "grad_output": lambda F, grad, kind, sizes, align, scales: F._resize(
            grad, kind, sizes, align, scales
        )
    }
)
@keeps_format(0)
def _resize_backward(
    xp: Any,
    grad_output: Array,
    shape: Sizes,
    kind: str,
    sizes: Sizes,
    align: bool,
    scales: Any,
) -> Any:
    """Give every input its share of the outputs' gradients."""
    return spread_back(xp, grad_output, shape, kind, sizes, align, scales)


@hidden_op(
    {
        "self": lambda F, grad, self_shape, kind, sizes, align, scales: (
            F._resize_backward(grad, tuple(self_shape), kind, sizes, align, scales)
        )
    }
)
@keeps_format(0)
def _resize(
    xp: Any, self: Array, kind: str, sizes: Sizes, align: bool, scales: Any
) -> Any:
    """Resize in any mode, for derivatives of derivatives."""
    return resized(xp, self, kind, sizes, align, scales)


def _one(name: str, kind: str, node: str) -> Callable[..., Any]:
    """Declare a mode for (N, C, length)."""
    back = _backward(kind)
    if kind.startswith("nearest"):

        def plain(
            xp: Any, self: Array, output_size: Sizes, scales: float | None = None
        ) -> Any:
            _check(name, kind, self, output_size)
            return resized(xp, self, kind, output_size, False, (scales,))

        how: Any = lambda F, grad, self_shape, output_size, scales: back(  # noqa: E731
            F, grad, self_shape, output_size, False, (scales,)
        )
        return _declared(name, node, plain, how)

    def smooth(
        xp: Any,
        self: Array,
        output_size: Sizes,
        align_corners: bool,
        scales: float | None = None,
    ) -> Any:
        _check(name, kind, self, output_size)
        return resized(xp, self, kind, output_size, align_corners, (scales,))

    def gradient(
        F: Any,
        grad: Any,
        self_shape: Any,
        output_size: Any,
        align_corners: bool,
        scales: Any,
    ) -> Any:
        return back(F, grad, self_shape, output_size, align_corners, (scales,))

    return _declared(name, node, smooth, gradient)


def _two(name: str, kind: str, node: str) -> Callable[..., Any]:
    """Declare a mode for (N, C, height, width)."""
    back = _backward(kind)
    if kind.startswith("nearest"):

        def plain(
            xp: Any,
            self: Array,
            output_size: Sizes,
            scales_h: float | None = None,
            scales_w: float | None = None,
        ) -> Any:
            _check(name, kind, self, output_size)
            scales = (scales_h, scales_w)
            return resized(xp, self, kind, output_size, False, scales)

        def plainly(
            F: Any,
            grad: Any,
            self_shape: Any,
            output_size: Any,
            scales_h: Any,
            scales_w: Any,
        ) -> Any:
            return back(F, grad, self_shape, output_size, False, (scales_h, scales_w))

        return _declared(name, node, plain, plainly)

    def smooth(
        xp: Any,
        self: Array,
        output_size: Sizes,
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        _check(name, kind, self, output_size)
        scales = (scales_h, scales_w)
        return resized(xp, self, kind, output_size, align_corners, scales)

    def gradient(
        F: Any,
        grad: Any,
        self_shape: Any,
        output_size: Any,
        align_corners: bool,
        scales_h: Any,
        scales_w: Any,
    ) -> Any:
        scales = (scales_h, scales_w)
        return back(F, grad, self_shape, output_size, align_corners, scales)

    return _declared(name, node, smooth, gradient)


def _three(name: str, kind: str, node: str) -> Callable[..., Any]:
    """Declare a mode for (N, C, depth, height, width)."""
    back = _backward(kind)
    if kind.startswith("nearest"):

        def plain(
            xp: Any,
            self: Array,
            output_size: Sizes,
            scales_d: float | None = None,
            scales_h: float | None = None,
            scales_w: float | None = None,
        ) -> Any:
            _check(name, kind, self, output_size)
            scales = (scales_d, scales_h, scales_w)
            return resized(xp, self, kind, output_size, False, scales)

        def plainly(
            F: Any,
            grad: Any,
            self_shape: Any,
            output_size: Any,
            scales_d: Any,
            scales_h: Any,
            scales_w: Any,
        ) -> Any:
            scales = (scales_d, scales_h, scales_w)
            return back(F, grad, self_shape, output_size, False, scales)

        return _declared(name, node, plain, plainly)

    def smooth(
        xp: Any,
        self: Array,
        output_size: Sizes,
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        _check(name, kind, self, output_size)
        scales = (scales_d, scales_h, scales_w)
        return resized(xp, self, kind, output_size, align_corners, scales)

    def gradient(
        F: Any,
        grad: Any,
        self_shape: Any,
        output_size: Any,
        align_corners: bool,
        scales_d: Any,
        scales_h: Any,
        scales_w: Any,
    ) -> Any:
        scales = (scales_d, scales_h, scales_w)
        return back(F, grad, self_shape, output_size, align_corners, scales)

    return _declared(name, node, smooth, gradient)


def _declared(
    name: str, node: str, kernel: Callable[..., Any], gradient: Callable[..., Any]
) -> Callable[..., Any]:
    kernel.__doc__ = f"Resize the last dimensions: {name}."
    declare = hidden_op({"self": gradient}, name=name, node=f"{node}Backward0")
    return declare(keeps_format(0)(kernel))


MODES: dict[tuple[str, int], Callable[..., Any]] = {
    ("nearest", 3): _one("upsample_nearest1d", "nearest", "UpsampleNearest1D"),
    ("nearest", 4): _two("upsample_nearest2d", "nearest", "UpsampleNearest2D"),
    ("nearest", 5): _three("upsample_nearest3d", "nearest", "UpsampleNearest3D"),
    ("nearest-exact", 3): _one(
        "_upsample_nearest_exact1d", "nearest-exact", "UpsampleNearestExact1D"
    ),
    ("nearest-exact", 4): _two(
        "_upsample_nearest_exact2d", "nearest-exact", "UpsampleNearestExact2D"
    ),
    ("nearest-exact", 5): _three(
        "_upsample_nearest_exact3d", "nearest-exact", "UpsampleNearestExact3D"
    ),
    ("linear", 3): _one("upsample_linear1d", "linear", "UpsampleLinear1D"),
    ("bilinear", 4): _two("upsample_bilinear2d", "linear", "UpsampleBilinear2D"),
    ("trilinear", 5): _three("upsample_trilinear3d", "linear", "UpsampleTrilinear3D"),
    ("bicubic", 4): _two("upsample_bicubic2d", "cubic", "UpsampleBicubic2D"),
    ("bilinear_aa", 4): _two(
        "_upsample_bilinear2d_aa", "linear_aa", "UpsampleBilinear2DAa"
    ),
    ("bicubic_aa", 4): _two(
        "_upsample_bicubic2d_aa", "cubic_aa", "UpsampleBicubic2DAa"
    ),
    ("lanczos_aa", 4): _two(
        "_upsample_lanczos2d_aa", "lanczos_aa", "UpsampleLanczos2DAa"
    ),
}
"""The op for each mode and rank of the input."""
