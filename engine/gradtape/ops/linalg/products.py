"""In-place matrix products, outer products under their older name, and ``bilinear``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, OPS, Array, method, public
from ..._dispatch.deprecated_signatures import call_older
from ..._dispatch.inplace import in_place
from ..._dtypes import CPP_TYPE
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import hidden_op
from ..views.reshape import reshape
from . import addr as addr  # which declares addr
from .linear import outer

_BAD_SIZE = (
    "Bad in-place call: input tensor size {own} and output tensor size {result} should "
    "match"
)

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
