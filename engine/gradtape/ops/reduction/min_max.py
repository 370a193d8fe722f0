"""Largest and smallest elements: values, places, and both."""

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._common.type_name import type_name
from ..._dispatch.declare import Array, method, op
from ..._graph.op import Check
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import check_floating
from .._support.arguments import as_integer, wrap_dim
from .._support.declare_view import composed
from .._support.operands import hidden_op
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduction import (
    ABSENT,
    as_dims,
    axes_of,
    check_dim,
    dim_argument,
    finish,
    needs_elements,
    numpy_names,
    restored,
    shared_by_few,
    values_of,
)

# ---- amax, amin: gradients split evenly among ties ----


def _shared(F: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    shape = tuple(self.shape)
    mask = restored(F, result, shape, dim, keepdim) == self
    grad = restored(F, grad, shape, dim, keepdim)
    found = shared_by_few(grad, mask) if F.raw else None
    if found is not None:
        return found
    count = F.sum(mask, axes_of(dim, len(shape)), True) if shape else F.sum(mask)
    return grad * mask / count


def _extreme(name: str, ufunc: str) -> Any:
    def kernel(xp: Any, self: Array, dim: Any = (), keepdim: bool = False) -> Any:
        axes = axes_of(dim, self.ndim)
        found = getattr(xp, ufunc).reduce(self, axis=axes)
        return finish(xp, found, self.shape, axes, keepdim)

    declared = hidden_op(
        {"self": _shared},
        name=name,
        key=f"_{name}",
        check=needs_elements(name, lacks=f"{name[1:]}_values_cpu"),
        out_rule=(
            "Expected the dtype for input and out to match, but got {result} for "
            "input's dtype and {out} for out's dtype."
        ),
        out=True,
        family="reduction",
    )(kernel)

    def extreme(
        input: Tensor,
        dim: Any = (),
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
        axis: Any = ABSENT,
        keepdims: Any = ABSENT,
    ) -> Tensor:
        dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
        return declared(input, as_dims(dim, name) or (), keepdim, out=out)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"Return the {ufunc} over all or some dimensions; NaN wins."
    return method(name, function=True)(composed(kernel)(extreme))


amax = _extreme("amax", "maximum")
amin = _extreme("amin", "minimum")


def _check_along(name: str) -> Check:
    """Return a check of the forms with a dimension: all have elements, and an order."""
    needs = needs_elements(name)

    def check(called: str, self: Any, dim: Any, *_: Any) -> None:
        needs(called, self, dim)
        if self._data.dtype.kind == "c":
            wrap_dim(dim, self._data.ndim)
            raise RuntimeError(f"{name}(): does not support complex input")

    return check


def _check_aminmax(_name: str, self: Any, dim: Any = None, *_: Any) -> None:
    if dim is None and not self._data.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the "
            "operation has no identity."
        )
    needs_elements("aminmax", call="aminmax")("aminmax", self, dim)


def _aminmax_backward(
    F: Any, grad: Any, self: Any, result0: Any, result1: Any, dim: Any, keepdim: bool
) -> Any:
    parts = [
        _shared(F, g, self, result, dim, keepdim)
        for g, result in zip(grad, (result0, result1), strict=True)
        if g is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@hidden_op(
    {"self": _aminmax_backward},
    name="aminmax",
    key="_aminmax",
    outputs=2,
    output_names=("min", "max"),
    differentiable=(0, 1),
    check=_check_aminmax,
    family="reduction",
)
def _aminmax(xp: Any, self: Array, dim: int | None, keepdim: bool) -> Any:
    check_floating(self, "aminmax_cpu", "c")
    axes = axes_of(dim, self.ndim)
    return tuple(
        finish(xp, ufunc.reduce(self, axis=axes), self.shape, axes, keepdim)
        for ufunc in (xp.minimum, xp.maximum)
    )


@method(function=True)
@numpy_names
@with_out(SAME_DTYPE)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return (min, max) over everything or along a dimension."""
    check_dim("aminmax", dim)
    return return_types.aminmax(_aminmax(input, dim, keepdim))


_SIGNATURES = """{name}() received an invalid combination of arguments - got ({got}), \
but expected one of:
 * (Tensor input, *, Tensor out = None)
 * (Tensor input, Tensor other, *, Tensor out = None)
 * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)
"""


# ---- picking one element along a dimension ----


def picked_backward(
    F: Any, grad: Any, indices: Any, shape: Any, dim: int, keepdim: bool
) -> Any:
    """Put gradients where the elements were picked; the first of several outputs."""
    grad = grad[0] if isinstance(grad, list) else grad
    if not shape:
        return grad
    dim = dim % len(shape)
    if not keepdim:
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F._put_picked(grad, indices, shape, dim)


@hidden_op({"self": lambda F, grad, indices, dim: F._take_picked(grad, indices, dim)})
def _put_picked(
    xp: Any, self: Array, indices: Array, shape: tuple[int, ...], dim: int
) -> Any:
    found = xp.zeros(shape, self.dtype)
    xp.put_along_axis(found, indices, self, dim)
    return found


@hidden_op(
    {
        "self": lambda F, grad, indices, self_shape, dim: F._put_picked(
            grad, indices, self_shape, dim
        )
    }
)
def _take_picked(xp: Any, self: Array, indices: Array, dim: int) -> Any:
    return xp.take_along_axis(self, indices, dim)


def place_of(xp: Any, name: str, self: Any, axis: int | None, keep: bool) -> Any:
    """Return where the extreme is, of everything or along an axis."""
    if self.ndim == 0:
        axes_of(axis, 0)  # refuses a dimension that is not there
        return xp.zeros((), "int64")
    if axis is None:
        found = xp.asarray(getattr(xp, f"arg{name}")(self)).astype("int64")
        return found.reshape((1,) * self.ndim) if keep else found
    axis = axes_of(axis, self.ndim)[0]
    found = getattr(xp, f"arg{name}")(self, axis=axis)
    return finish(xp, found, self.shape, (axis,), keep).astype("int64", copy=False)


def _even(F: Any, grad: Any, self: Any, result: Any) -> Any:
    """Split the gradient of an extreme of everything among the ties; NaN ties too."""
    mask = self == result
    floats = values_of(self).dtype.kind in "fV"
    if floats and not (F.raw and result == result):  # no NaN, then none to look for
        mask = mask | (F.isnan(self) & F.isnan(result))
    if F.raw and self.ndim:
        found = shared_by_few(grad.reshape((1,) * self.ndim), mask)
        if found is not None:
            return found
    return mask * (grad / F.sum(mask))


def _picking(name: str) -> Any:
    """Declare max or min: of everything, and along a dimension with places."""
    title = name.capitalize()

    def of_all(xp: Any, self: Array) -> Any:
        return getattr(xp, f"{name}imum").reduce(self, axis=tuple(range(self.ndim)))

    def along(xp: Any, self: Array, dim: int, keepdim: bool = False) -> Any:
        places = place_of(xp, name, self, dim, True)
        if self.ndim == 0:
            return self.copy(), places
        axis = axes_of(dim, self.ndim)
        values = xp.take_along_axis(self, places, axis[0])
        return tuple(
            finish(xp, v.squeeze(axis), self.shape, axis, keepdim)
            for v in (values, places)
        )

    whole = hidden_op(
        {"self": _even},
        name=name,
        key=f"_{name}_all",
        node=f"{title}Backward1",
        check=needs_elements(name, lacks=f"{name}_all"),
        out=True,
        family="reduction",
    )(of_all)
    by_dim = hidden_op(
        {
            "self": lambda F, grad, result1, self_shape, dim, keepdim: picked_backward(
                F, grad, result1, self_shape, dim, keepdim
            )
        },
        name=name,
        key=f"_{name}_dim",
        outputs=2,
        output_names=("values", "indices"),
        family="reduction",
        check=_check_along(name),
        out=True,
        out_rule=SAME_DTYPE,
    )(along)
    kind = getattr(return_types, name)
    pairwise = f"{name}imum"

    def extreme(
        input: Tensor,
        dim: Any = ABSENT,
        keepdim: Any = False,
        *,
        other: Any = None,
        out: Any = None,
        axis: Any = ABSENT,
        keepdims: Any = ABSENT,
    ) -> Any:
        odd = isinstance(dim, bool | float | complex)  # NumPy's own floats too
        if odd or not isinstance(input, Tensor):
            given = [input] if dim is ABSENT else [input, dim]
            raise TypeError(
                _SIGNATURES.format(
                    name=name,
                    got=", ".join(
                        "Tensor" if isinstance(g, Tensor) else type_name(g)
                        for g in given
                    ),
                )
            )
        dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
        if isinstance(dim, Tensor):
            other, dim = dim, ABSENT
        if other is not None:
            return getattr(input, pairwise)(other, out=out)
        if dim is ABSENT:
            return whole(input, out=out)
        return kind(by_dim(input, as_integer(dim, name, "dim", 2), keepdim, out=out))

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = (
        f"Return the {pairwise} of everything; along a dimension, (values, indices); "
        "of two tensors, element by element."
    )
    return method(name, function=True)(extreme)


max = _picking("max")
min = _picking("min")


def _locating(name: str) -> Any:
    def kernel(
        xp: Any, self: Array, dim: int | None = None, keepdim: bool = False
    ) -> Any:
        return place_of(xp, name, self, dim, keepdim)

    kernel.__doc__ = f"Return the place of the {name}imum: the first one of several."
    label = f"arg{name}"
    needs = needs_elements(label, IndexError, advice="")

    def check(given: str, self: Tensor, *options: Any) -> None:
        check_dim(label, options[0] if options else None)
        kind = {"b": "bool", "c": "complex"}.get(self._data.dtype.kind)
        if kind:
            raise RuntimeError(f"{label}(): does not support {kind} input")
        needs(given, self, *options)

    return op(
        {},
        name=label,
        check=check,
        out=True,
        out_rule=SAME_DTYPE,
        family="reduction",
    )(kernel)


argmax = _locating("max")
argmin = _locating("min")
