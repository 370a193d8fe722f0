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
from .._support.signed import with_parameters

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


_SCALES: dict[int, tuple[str, ...]] = {
    1: ("scales",),
    2: ("scales_h", "scales_w"),
    3: ("scales_d", "scales_h", "scales_w"),
}


def _mode(dims: int, name: str, kind: str, node: str) -> Callable[..., Any]:
    """Declare the op of a mode for as many dimensions as are resized.

    Nearest neighbours have no corners to align. Kernel and derivative take a scale per
    dimension, under PyTorch's names.
    """
    options = () if kind.startswith("nearest") else ("align_corners",)
    options = ("output_size", *options, *_SCALES[dims])

    def how(given: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        return (False, given) if len(given) == dims else (given[0], given[1:])

    def kernel(xp: Any, self: Any, output_size: Sizes, *given: Any) -> Any:
        _check(name, kind, self, output_size)
        return resized(xp, self, kind, output_size, *how(given))

    def gradient(F: Any, grad: Any, shape: Any, output_size: Any, *given: Any) -> Any:
        align, scales = how(given)
        return F._resize_backward(grad, tuple(shape), kind, output_size, align, scales)

    kernel.__doc__ = f"Resize the last dimensions: {name}."
    defaults = dict.fromkeys(_SCALES[dims])
    declare = hidden_op(
        {"self": with_parameters(gradient, "F", "grad", "self_shape", *options)},
        name=name,
        node=f"{node}Backward0",
    )
    kernel = with_parameters(
        kernel, "xp", "self", *options, marks={"self": "Array"}, defaults=defaults
    )
    return declare(keeps_format(0)(kernel))


MODES: dict[tuple[str, int], Callable[..., Any]] = {
    ("nearest", 3): _mode(1, "upsample_nearest1d", "nearest", "UpsampleNearest1D"),
    ("nearest", 4): _mode(2, "upsample_nearest2d", "nearest", "UpsampleNearest2D"),
    ("nearest", 5): _mode(3, "upsample_nearest3d", "nearest", "UpsampleNearest3D"),
    ("nearest-exact", 3): _mode(
        1, "_upsample_nearest_exact1d", "nearest-exact", "UpsampleNearestExact1D"
    ),
    ("nearest-exact", 4): _mode(
        2, "_upsample_nearest_exact2d", "nearest-exact", "UpsampleNearestExact2D"
    ),
    ("nearest-exact", 5): _mode(
        3, "_upsample_nearest_exact3d", "nearest-exact", "UpsampleNearestExact3D"
    ),
    ("linear", 3): _mode(1, "upsample_linear1d", "linear", "UpsampleLinear1D"),
    ("bilinear", 4): _mode(2, "upsample_bilinear2d", "linear", "UpsampleBilinear2D"),
    ("trilinear", 5): _mode(3, "upsample_trilinear3d", "linear", "UpsampleTrilinear3D"),
    ("bicubic", 4): _mode(2, "upsample_bicubic2d", "cubic", "UpsampleBicubic2D"),
    ("bilinear_aa", 4): _mode(
        2, "_upsample_bilinear2d_aa", "linear_aa", "UpsampleBilinear2DAa"
    ),
    ("bicubic_aa", 4): _mode(
        2, "_upsample_bicubic2d_aa", "cubic_aa", "UpsampleBicubic2DAa"
    ),
    ("lanczos_aa", 4): _mode(
        2, "_upsample_lanczos2d_aa", "lanczos_aa", "UpsampleLanczos2DAa"
    ),
}
"""The op for each mode and rank of the input."""
