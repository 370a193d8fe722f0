"""Powers, exponentials and chains of matrices."""

from __future__ import annotations

from typing import Any

from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import FUNCTIONS, Array, method, public
from ..._tensor.tensor import Tensor
from .._kernels.lapack import host
from .._support.arguments import as_integer, check_tensor, tensor_list
from .._support.linalg import CASTABLE, STRICT, adjoint, inexact, into, square
from .._support.matrix_product import c_name
from .._support.operands import hidden_op
from ..memory.memory_format import contiguous_format
from .linear import matmul
from .matmul import mm
from .solve import inverted

# ---- exponential -------------------------------------------------------------------


def _exp_backward(F: Any, grad: Any, self: Any) -> Any:
    """Return the gradient: the corner of the exponential of a matrix twice the size."""
    n = self.shape[-1]
    turned = adjoint(F, self)
    upper = F.cat([turned, grad], -1)
    lower = F.cat([F.zeros_like(self), turned], -1)
    whole = F._linalg_matrix_exp(F.cat([upper, lower], -2))
    return whole[..., :n, n:]


@hidden_op({"self": _exp_backward}, name="linalg_matrix_exp", key="_linalg_matrix_exp")
def _linalg_matrix_exp(xp: Any, self: Array) -> Any:
    square("linalg.matrix_exp", self)
    inexact("linalg.matrix_exp", self)
    if not self.size:
        return self.copy()
    wide = self.astype("float32") if self.dtype.itemsize == 2 else self
    found = xp.asarray(_exponential(wide)).astype(self.dtype, copy=False)
    return xp.ascontiguousarray(found).reshape(-1).reshape(self.shape)


@host
def _exponential(matrices: Any) -> Any:
    from scipy.linalg import expm  # 0.1 s, so not before the first call

    return expm(matrices)


def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponentials of square matrices of shape (*, n, n).

    >>> import gradtape as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_tensor(input, "linalg_matrix_exp")
    return _linalg_matrix_exp(input)


@method("matrix_exp", function=True)
def _matrix_exp(input: Tensor) -> Tensor:
    """Return the exponentials of square matrices."""
    check_tensor(input, "matrix_exp")
    return _linalg_matrix_exp(input)


# ---- powers ------------------------------------------------------------------------


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Return square matrices to an integer power; a negative one inverts them first.

    >>> import gradtape as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    check_tensor(input, "linalg_matrix_power")
    times = as_integer(n, "linalg_matrix_power", "n", 2)
    rule = CASTABLE if times == 0 else STRICT
    name = "linalg_inv_ex" if times < 0 else "matmul" if times > 1 else "matrix_power"
    return into(name, out, (input,), lambda: _power(input, times), rule)


@method("matrix_power", function=True)
def _matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Return square matrices to an integer power."""
    check_tensor(input, "matrix_power")
    return matrix_power(input, as_integer(n, "matrix_power", "n", 2), out=out)


def _power(input: Tensor, n: int) -> Tensor:
    square("linalg.matrix_power", input._data)
    if n == 0:
        like = FUNCTIONS["eye"](input.shape[-1], dtype=input.dtype, device=input.device)
        copy = input.clone(memory_format=contiguous_format)
        return copy.copy_(like.expand(tuple(input.shape)))
    if n == 1:
        return input.clone(memory_format=contiguous_format)
    base = inverted(input, "linalg.inv")[0] if n < 0 else input
    n = abs(n)
    if n == 1:
        return base
    if n in (2, 3):
        double = matmul(base, base)
        return double if n == 2 else matmul(double, base)
    found, power = None, base
    while True:
        if n % 2:
            found = power if found is None else matmul(found, power)
        n //= 2
        if not n:
            break
        power = matmul(power, power)
    assert found is not None
    return found


# ---- chains ------------------------------------------------------------------------


@autocasts("linalg_multi_dot")
def multi_dot(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Multiply two or more matrices in the order that takes the fewest operations.

    The first may be a vector, a row; the last too, a column.

    >>> import gradtape as torch
    >>> torch.linalg.multi_dot([torch.ones(2), torch.ones(2, 3), torch.ones(3)])
    tensor(6.)
    """
    given = tensor_list(tensors, "linalg_multi_dot")
    rule = "multi_dot(): expected out tensor to have dtype {wanted} but got {given}"
    return into("multi_dot", out, given, lambda: _chain(given), rule)


def _chain(tensors: list[Tensor]) -> Tensor:
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    shape: list[int] = []
    first, last = tensors[0], tensors[-1]
    for which, end in (("first", first), ("last", last)):
        if end.dim() not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {which} tensor must be 1D or 2D but got {end.dim()}D"
            )
        if end.dim() == 2:
            shape.append(end.shape[0 if which == "first" else -1])
    matrices = list(tensors)
    if first.dim() == 1:
        matrices[0] = first.unsqueeze(0)
    if last.dim() == 1:
        matrices[-1] = last.unsqueeze(-1)
    _check_chain(tensors, matrices)
    found = _multiplied(matrices, _splits([m.shape for m in matrices]), 0, count - 1)
    return found.view(tuple(shape))


def _check_chain(tensors: list[Tensor], matrices: list[Tensor]) -> None:
    kind = tensors[0].dtype
    for at, each in enumerate(matrices):
        if each.dim() != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {at} must be 2D but got {each.dim()}D"
            )
        if each.dtype is not kind:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{c_name(tensors[0]._data)} and tensor {at} {c_name(each._data)}"
            )
        if at and matrices[at - 1].shape[1] != each.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {at - 1} and {at} with shapes "
                f"{list(tensors[at - 1].shape)} and {list(tensors[at].shape)} cannot "
                "be multiplied"
            )


def _splits(shapes: list[Any]) -> dict[tuple[int, int], int]:
    """Return where to cut each part of a chain so that it costs least."""
    sizes = [s[0] for s in shapes] + [shapes[-1][1]]
    count = len(shapes)
    cost = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options: list[tuple[int, int]] = []
            for k in range(i, j):
                last = sizes[i] * sizes[k + 1] * sizes[j + 1]
                options.append((cost[i, k] + cost[k + 1, j] + last, k))
            if count == 3 and length == 2:
                options.reverse()  # of two equal orders PyTorch takes the right one
            cost[i, j], cuts[i, j] = min(options, key=lambda option: option[0])
    return cuts


def _multiplied(
    matrices: list[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int
) -> Tensor:
    if i == j:
        return matrices[i]
    k = cuts[i, j]
    return mm(_multiplied(matrices, cuts, i, k), _multiplied(matrices, cuts, k + 1, j))


_DEPRECATED = (
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. "
    "Use torch.linalg.multi_dot instead, which accepts a list of two or more tensors "
    "rather than multiple parameters."
)


@public
@autocasts("chain_matmul")
def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """Multiply matrices. Deprecated, as in PyTorch: use ``linalg.multi_dot``."""
    given = tensor_list(
        matrices[0]
        if len(matrices) == 1 and not isinstance(matrices[0], Tensor)
        else matrices,
        "chain_matmul",
    )
    warn_once(_DEPRECATED)
    for each in given:
        if each.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {each.dim()}, expected 2 instead.")
    if not given:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(given) == 1:
        return into("chain_matmul", out, given, given[0].clone)
    return multi_dot(given, out=out)


@public
def _compute_linear_combination(
    input: Tensor, coefficients: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Return sums of n tensors, stacked, by rows of (m, n) weights; ``out`` adds up."""
    if not input.dim():
        raise RuntimeError("Empty tensor not supported")
    found = FUNCTIONS["tensordot"](coefficients, input, 1)
    return found if out is None else out.add_(found)
