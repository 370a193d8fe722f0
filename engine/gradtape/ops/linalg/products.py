"""Products of vectors: dot, outer, cross, bilinear and the like."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import FUNCTIONS, OPS, Array, method, op, public
from ..._dispatch.deprecated_signatures import call_older
from ..._dispatch.inplace import in_place, inplace
from ..._dispatch.operands import common_shape
from ..._dispatch.view_history import check_inplace
from ..._dtypes import CPP_TYPE, DTYPE_OF, bool_, result_type_of
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .._support.linalg import inexact, into, kind_name
from .._support.matrix_product import check_expandable, conj, scalar_name, scaled
from .._support.new_tensor import array_like
from .._support.operands import hidden_op
from .._support.reduction import numpy_names
from .._support.scalar_range import in_range
from ..views.reshape import reshape
from .linear import matmul as product
from .linear import outer
from .matmul import added, vdot


@autocasts("linalg_vecdot")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the sum of the products of ``x``, conjugated, with ``y`` along ``dim``.

    >>> import gradtape as torch
    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    check_tensor(x, "linalg_vecdot", "x")
    check_tensor(y, "linalg_vecdot", "y", 2)

    def compute() -> Tensor:
        inexact("linalg.vecdot", x._data)
        if x.dtype is not y.dtype:
            raise RuntimeError(
                "linalg.vecdot: Expected x and y to have the same dtype, but found x "
                f"of type {x.dtype.cpp_name} and y of type {y.dtype.cpp_name} instead"
            )
        if x.dim() == 1 and y.dim() == 1:
            wrap_dim(dim, 1)
            return vdot(x, y)
        return (x.conj() * y).sum(dim)

    rule = "linalg.vecdot: Expected out of dtype{result} but found {out}"
    name = "vdot" if x.dim() == y.dim() == 1 else "sum"
    return into(name, out, (x, y), compute, rule)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Return the powers 0 … N - 1 of each element, in a new last dimension.

    >>> import gradtape as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    check_tensor(x, "linalg_vander", "x")
    kind = x.dtype
    if kind is bool_ or (kind.itemsize == 2 and kind.is_floating_point):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but "
            f"got {kind.cpp_name}"
        )
    tensor = x.unsqueeze(-1) if x.dim() == 0 else x
    count = tensor.shape[-1] if N is None else int(N)
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = tensor.unsqueeze(-1).expand((*tensor.shape, count - 1)).cumprod(-1)
    ones = FUNCTIONS["ones"](
        (*tensor.shape, 1), dtype=powers.dtype, device=powers.device
    )
    return FUNCTIONS["cat"]([ones, powers], -1)


@hidden_op(
    {
        "self": lambda F, grad, other, dim: F._linalg_cross(F.conj(other), grad, dim),
        "other": lambda F, grad, self, dim: F._linalg_cross(grad, F.conj(self), dim),
    },
    name="linalg_cross",
    key="_linalg_cross",
)
def _linalg_cross(xp: Any, self: Array, other: Array, dim: int) -> Any:
    if self.ndim != other.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions."
        )
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{self.shape[axis]} and {other.shape[axis]}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(self)} but found {scalar_name(other)}"
        )
    if self.dtype.kind == "b":
        raise NotImplementedError(f"\"cross\" not implemented for '{kind_name(self)}'")
    shape = common_shape(self.shape, other.shape)
    a, b = (xp.moveaxis(xp.broadcast_to(t, shape), axis, 0) for t in (self, other))
    found = xp.empty(shape, self.dtype)
    into_found = xp.moveaxis(found, axis, 0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        into_found[i] = a[j] * b[k] - a[k] * b[j]
    return found


@numpy_names
@autocasts("cross")
def cross(
    input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None
) -> Tensor:
    """Return the cross products of vectors of three, which lie along ``dim``.

    >>> import gradtape as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
    tensor([0., 0., 1.])
    """
    check_tensor(input, "linalg_cross")
    check_tensor(other, "linalg_cross", "other", 2)
    return into(
        "linalg_cross", out, (input, other), lambda: _linalg_cross(input, other, dim)
    )


_UNNAMED_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a "
    "future release."
)


@method("cross", function=True)
def _cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return cross products along ``dim``, by default the first dimension of size 3."""
    check_tensor(input, "cross")
    check_tensor(other, "cross", "other", 2)
    if dim is None:
        warn_once(_UNNAMED_DIM)
        threes = [i for i, n in enumerate(input.shape) if n == 3]
        if not threes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = threes[0]
    return cross(input, other, dim=dim, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices.

    >>> import gradtape as torch
    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    check_tensor(A, "linalg_diagonal", "A")
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply vectors, matrices or batches of matrices: ``gradtape.matmul``.

    >>> import gradtape as torch
    >>> torch.linalg.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return into("matmul", out, (input, other), lambda: product(input, other))


_NOT_INTEGRAL = (
    "For integral input tensors, argument {} must not be a floating point number."
)


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "vec1": lambda F, grad, vec2, alpha: scaled(F.mv(grad, conj(F, vec2)), alpha),
        "vec2": lambda F, grad, vec1, alpha: scaled(
            F.mv(F.t(grad), conj(F, vec1)), alpha
        ),
    },
    out=True,
)
def addr(
    xp: Any, self: Array, vec1: Array, vec2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Return ``beta * self + alpha * outer(vec1, vec2)``; ``self`` is broadcast."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D"
            )
    size = (vec1.shape[0], vec2.shape[0])
    check_expandable(self, size)
    kind = result_type_of([(DTYPE_OF[a.dtype], 1) for a in (self, vec1, vec2)])
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and kind.numpy.kind != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float | complex) and kind.numpy.kind in "biu":
            raise RuntimeError(_NOT_INTEGRAL.format(name))
    beta, alpha = in_range(beta, kind), in_range(alpha, kind)
    self, vec1, vec2 = (a.astype(kind.numpy, copy=False) for a in (self, vec1, vec2))
    into = array_like(xp, self) if self.shape == size else None
    vec1 = vec1 if alpha == 1 else vec1 * kind.numpy.type(alpha)
    return added(xp, self, xp.multiply(vec1[:, None], vec2, into), beta, 1)


inplace("addr")


_BAD_SIZE = (
    "Bad in-place call: input tensor size {own} and output tensor size {result} should "
    "match"
)

_NO_MATRIX = "2D tensor expected, got {}D tensor for input"

Shape = Callable[[Any, Any], tuple[int, ...]]

_RESULTS: dict[str, Shape] = {
    "addmm": lambda a, b: (a.shape[0], b.shape[1]),
    "addmv": lambda a, b: (a.shape[0],),
    "addr": lambda a, b: (a.shape[0], b.shape[0]),
    "addbmm": lambda a, b: (a.shape[1], b.shape[2]),
    "baddbmm": lambda a, b: (a.shape[0], a.shape[1], b.shape[2]),
}
"""The shape of each product, of operands with as many dimensions as it takes."""

_RANKS = {"addmm": (2, 2), "addmv": (2, 1), "addr": (1, 1)}


def _install(name: str, shape_of: Shape) -> None:
    twin = in_place(OPS[name])
    ranks = _RANKS.get(name, (3, 3))
    first, second = OPS[name].tensors[1:]

    def write(
        self: Tensor, *operands: Any, beta: Any = 1, alpha: Any = 1, **named: Any
    ):
        if len(operands) > len((first, second)):
            return call_older(f"{name}_", write, (self, *operands))
        given = (*operands, *(named[n] for n in (first, second) if n in named))
        if [t.dim() for t in given if isinstance(t, Tensor)] == [*ranks]:
            result = shape_of(*given)
            if tuple(self.shape) != result:
                needs = any(t.requires_grad for t in (self, *given))
                check_inplace(self, mode.grad and needs)
                if name == "addr" and self.dim() != 2:
                    raise RuntimeError(_NO_MATRIX.format(self.dim()))
                raise RuntimeError(
                    _BAD_SIZE.format(own=list(self.shape), result=list(result))
                )
        return twin(self, *operands, beta=beta, alpha=alpha, **named)

    write.__name__ = write.__qualname__ = f"{name}_"
    write.__doc__ = f"In-place version of {name}()."
    method(f"{name}_")(write)


for _name, _shape in _RESULTS.items():
    _install(_name, _shape)


@method(function=True)
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply each element of one vector with each of another: ``outer``."""
    check_tensor(input, "ger")
    check_tensor(vec2, "ger", "vec2", 2)
    if out is None:
        return outer(input, vec2)
    return FUNCTIONS["mul"](reshape(input, (input.shape[0], 1)), vec2, out=out)


# ---- bilinear ----------------------------------------------------------------------


def _pairs(F: Any, first: Any, second: Any) -> Any:
    """Return the products of all elements of two rows, as one row."""
    product = F.unsqueeze(first, -1) * F.unsqueeze(second, -2)
    rows, m, n = product.shape
    return F.reshape(product, (rows, m * n))


def _trilinear_backward(
    F: Any, grad: Any, i1: Any, i2: Any, i3: Any, needs: Any
) -> Any:
    o, m, n = i2.shape
    weight = F.conj(i2)
    first = second = third = None
    if needs[0]:
        turned = F.reshape(F.transpose(weight, -2, -1), (o * n, m))
        first = F.matmul(_pairs(F, grad, F.conj(i3)), turned)
    if needs[1]:
        product = _pairs(F, F.conj(i1), F.conj(i3))
        second = F.reshape(F.matmul(F.transpose(grad, 0, 1), product), (o, m, n))
    if needs[2]:
        turned = F.reshape(weight, (o * m, n))
        third = F.matmul(_pairs(F, grad, F.conj(i1)), turned)
    return first, second, third


@hidden_op(
    {("i1", "i2", "i3"): _trilinear_backward},
    name="_trilinear",
    key="_trilinear",
    node="TrilinearBackward0",
)
def _trilinear(
    xp: Any,
    i1: Array,
    i2: Array,
    i3: Array,
    expand1: Any,
    expand2: Any,
    expand3: Any,
    sumdim: Any,
) -> Any:
    """Return i1ᵀ i2[k] i3 for each output k. The other arguments are PyTorch's."""
    o, m, n = i2.shape
    pairs = (i1[:, :, None] * i3[:, None, :]).reshape(i1.shape[0], m * n)
    return xp.dot(pairs, i2.reshape(o, m * n).T)


@public
@autocasts("bilinear")
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Return ``input1 @ weight[k] @ input2`` for each output k, plus bias.

    Inputs are (*, in1) and (*, in2), the weight (out, in1, in2), the bias (out).
    Raises RuntimeError where sizes do not meet.

    >>> import gradtape as torch
    >>> torch.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(4, 2, 3))
    tensor([[6., 6., 6., 6.]])
    """
    names = {"input1": input1, "input2": input2, "weight": weight}
    for at, (name, given) in enumerate(names.items()):
        check_tensor(given, "bilinear", name, at + 1)
    _check_bilinear(input1, input2, weight, bias)
    count = math.prod(input1.shape[:-1])
    first = reshape(input1, (count, input1.shape[-1]))
    second = reshape(input2, (count, input2.shape[-1]))
    found = _trilinear(first, weight, second, (1, 3), (0,), (1, 2), (2, 3))
    found = reshape(found, (*input1.shape[:-1], weight.shape[0]))
    return found if bias is None else found + bias


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    kinds = {name: each.dtype for name, each in given.items() if each is not None}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name}: {CPP_TYPE[kind]}" for name, kind in kinds.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {told}")
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and "
            f"{input2.dim()}"
        )
    for dim, (a, b) in enumerate(
        zip(input1.shape[:-1], input2.shape[:-1], strict=True)
    ):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got "
                f"{a} and {b}"
            )
    for name, given, size in (
        ("input1", input1.shape[-1], weight.shape[1]),
        ("input2", input2.shape[-1], weight.shape[2]),
    ):
        if given != size:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {given} but "
                f"expected {size}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got "
            f"{bias.shape[0]} but expected {weight.shape[0]}"
        )
