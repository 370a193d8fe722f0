"""Views that read the same bytes as other numbers: view(dtype), view_as_real."""

from __future__ import annotations

from typing import Any

from ..._autocast.autocast import autocasts
from ..._backend import backend_of
from ..._dispatch.declare import OPS, Array, method, op, public, tensor_ops
from ..._dispatch.operands import argument_error, common_shape
from ..._dispatch.strided_views import Geometry, geometry_of
from ..._dispatch.view_history import note_step
from ..._dtypes import DTYPE_OF
from ..._dtypes import dtype as DType
from ..._storage.result_strides import laid_out
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.declare_view import look, recorded
from .._support.operands import hidden_op


def _scaled(at: Geometry, factor: int) -> Geometry:
    """Count strides and offset in elements that are ``factor`` times smaller."""
    return Geometry(at.size, tuple(s * factor for s in at.stride), at.offset * factor)


def _as_dtype(source: Tensor, at: Geometry, dtype: DType) -> Tensor:
    flat = source._storage.flat_as(dtype.numpy)
    return look(source, at, array=backend_of(flat).strided(flat, *at))


def view_dtype(self: Tensor, dtype: DType) -> Tensor:
    """Look at the same bytes as elements of another dtype.

    Raises RuntimeError where the last dimension does not divide into such elements.
    """
    at = geometry_of(self)
    mine = self.dtype
    if mine.itemsize > dtype.itemsize:
        ratio = mine.itemsize // dtype.itemsize
        _check_last(self, at, dtype)
        if not at.size:
            raise RuntimeError(_ZERO_DIM.format(mine.cpp_name, dtype.cpp_name))
        wide = _scaled(at, ratio)
        size = (*at.size[:-1], at.size[-1] * ratio)
        at = Geometry(size, (*wide.stride[:-1], 1), wide.offset)
    elif mine.itemsize < dtype.itemsize:
        if not at.size:
            raise RuntimeError(_ZERO_DIM.format(mine.cpp_name, dtype.cpp_name))
        at = _joined(self, at, dtype)
    view = _as_dtype(self, at, dtype)
    assert view._view is not None
    view._view.base = None  # bits have no gradient
    return view


_ZERO_DIM = "self.dim() cannot be 0 to view {} as {} (different element sizes)"


def _check_last(self: Tensor, at: Geometry, dtype: DType) -> None:
    if at.size and at.stride[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {self.dtype.cpp_name} as "
            f"{dtype.cpp_name} (different element sizes), but got {at.stride[-1]}"
        )


def _joined(self: Tensor, at: Geometry, dtype: DType) -> Geometry:
    ratio = dtype.itemsize // self.dtype.itemsize
    names = (
        f"to view {self.dtype.cpp_name} as {dtype.cpp_name} (different element sizes)"
    )
    if at.size[-1] % ratio:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {ratio} {names}, but got {at.size[-1]}"
        )
    if at.offset % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} {names}, but got "
            f"{at.offset}"
        )
    _check_last(self, at, dtype)
    for d, step in enumerate(at.stride[:-1]):
        if step % ratio:
            raise RuntimeError(
                f"self.stride({d}) must be divisible by {ratio} {names}, but got {step}"
            )
    size = (*at.size[:-1], at.size[-1] // ratio)
    stride = (*(s // ratio for s in at.stride[:-1]), 1)
    return Geometry(size, stride, at.offset // ratio)


# ---- complex numbers as pairs ----


@hidden_op(
    {"self": lambda F, grad: F.view_as_complex(grad)}, name="view_as_real", view=""
)
def _view_as_real(xp: Any, self: Array) -> Any:
    """See complex numbers as pairs of real ones."""
    return xp.stack([self.real, self.imag], -1)


@hidden_op(
    {"self": lambda F, grad: F.view_as_real(grad)}, name="view_as_complex", view=""
)
def _view_as_complex(xp: Any, self: Array) -> Any:
    """See pairs of real numbers as complex ones."""
    return self[..., 0] + 1j * self[..., 1]


@public
def view_as_real(input: Tensor) -> Tensor:
    """Look at complex numbers as pairs of real ones, in a new last dimension.

    >>> import gradtape as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not isinstance(input, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise argument_error(OPS["view_as_real"], "self", 1, input)
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    at = _scaled(geometry_of(input), 2)
    pairs = Geometry((*at.size, 2), (*at.stride, 1), at.offset)
    view = _as_dtype(input, pairs, input.dtype.to_real())
    note_step(view, input, "view_as_real", pairs)
    return recorded(OPS["view_as_real"], input, (view,), ())[0]


@public
@autocasts("view_as_complex")
def view_as_complex(input: Tensor) -> Tensor:
    """Look at pairs of real numbers, in the last dimension, as complex ones.

    Raises RuntimeError where the pairs do not lie together.
    """
    check_tensor(input, "view_as_complex")
    at = geometry_of(input)
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but "
            f"got a tensor of scalar type: {input.dtype.cpp_name}"
        )
    if not at.size:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if at.size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if at.stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in at.stride[:-1]):
        raise RuntimeError(
            "Tensor must have a stride divisible by 2 for all but last dimension"
        )
    if at.offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    steps = tuple(s // 2 for s in at.stride[:-1])
    whole = Geometry(at.size[:-1], steps, at.offset // 2)
    view = _as_dtype(input, whole, input.dtype.to_complex())
    note_step(view, input, "view_as_complex", whole)
    return recorded(OPS["view_as_complex"], input, (view,), ())[0]


tensor_ops.view_as_real = view_as_real
tensor_ops.view_as_complex = lambda grad: view_as_complex(grad.contiguous())


@public
@method()
def is_conj(input: Tensor) -> bool:
    """Tell whether the tensor is a lazy conjugate; never, here."""
    return False


@public
@method()
def is_neg(input: Tensor) -> bool:
    """Tell whether the tensor is a lazy negative; never, here."""
    return False


@method(function=True)
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: negatives are never lazy here."""
    return input


_SAME_OUT = (
    "Expected object of scalar type {result} but got scalar type {out} for argument "
    "'out'"
)


def check_parts(first: Any, second: Any) -> None:
    """Refuse dtypes of two parts of complex numbers that are not of one float type."""
    names = [DTYPE_OF[kind].cpp_name for kind in (first, second)]
    if first.kind != "f" or second.kind != "f":
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            "{} and {}".format(*names)
        )
    if first != second:
        raise RuntimeError(
            "Expected object of scalar type {} but got scalar type {} for second "
            "argument".format(*names)
        )


@op(
    {
        ("real", "imag"): lambda F, grad: (F.real(grad), F.imag(grad)),
    },
    name="complex",
    out=True,
    out_rule=_SAME_OUT,
    method=False,
)
def complex_of(xp: Any, real: Array, imag: Array) -> Any:
    """Put two real tensors together as the parts of a complex one.

    >>> import gradtape as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    check_parts(real.dtype, imag.dtype)
    kind = DTYPE_OF[real.dtype].to_complex().numpy
    whole = xp.empty(common_shape(real.shape, imag.shape), kind)
    whole.real, whole.imag = real, imag
    return laid_out(xp, whole, (real, imag))


def _polar_backward(F: Any, grad: Any, result: Any) -> Any:
    conjugate = F.conj(grad)
    return F.real(conjugate * F.sgn(result)), F.real(conjugate * (result * 1j))


@hidden_op(
    {("abs", "angle"): _polar_backward}, name="polar", out=True, out_rule=_SAME_OUT
)
def _polar(xp: Any, abs: Array, angle: Array) -> Any:
    check_parts(abs.dtype, angle.dtype)
    kind = DTYPE_OF[abs.dtype].to_complex().numpy
    whole = xp.empty(common_shape(abs.shape, angle.shape), kind)
    whole.real, whole.imag = abs * xp.cos(angle), abs * xp.sin(angle)
    return laid_out(xp, whole, (abs, angle))


@public
@autocasts("polar")
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers of the given lengths and angles.

    >>> import gradtape as torch
    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    check_tensor(abs, "polar", "abs")
    check_tensor(angle, "polar", "angle", 2)
    return _polar(abs, angle, out=out)
