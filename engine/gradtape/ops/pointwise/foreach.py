"""Functions over lists of tensors: ``_foreach_add``, ``_foreach_mul_`` and the rest.

Optimizers and averages of models call them to handle all parameters at once. Each is
the op of its name, called once per tensor; in place with an underscore at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..._dispatch.declare import FUNCTIONS, public
from ..._tensor.tensor import Tensor
from ..linalg.norms import vector_norm

Tensors = tuple[Tensor, ...]

_UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc"),
    *("exp", "expm1", "floor", "frac", "lgamma", "log", "log10", "log1p", "log2"),
    *("neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh"),
    *("sqrt", "tan", "tanh", "trunc"),
)
_BINARY = (
    *("add", "sub", "mul", "div", "pow"),
    *("clamp_max", "clamp_min", "maximum", "minimum"),
)
_TERNARY = ("addcmul", "addcdiv")

_WITH_ALPHA = ("add", "sub")
_METHOD = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""The method that also takes numbers and works in place."""


# ---- arguments ----


def _listed(given: Any, function: str) -> Tensors:
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"{function}(): argument 'self' (position 1) must be tuple of Tensors, not "
            f"{type(given).__name__}"
        )
    if not given:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return tuple(given)


def _beside(own: Tensors, given: Any) -> Iterable[Any]:
    """Return, for each tensor, what a number, a tensor or a list holds for it."""
    if isinstance(given, Tensor):
        if given.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {given.dim()} "
                f"dimensions and {given.numel()} elements."
            )
        return [given] * len(own)
    if not isinstance(given, list | tuple):
        return [given] * len(own)
    if len(given) != len(own):
        if not (given and isinstance(given[0], Tensor)):
            raise RuntimeError(
                "Tensor list must have same number of elements as scalar list."
            )
        raise RuntimeError(
            "Tensor lists must have the same number of tensors, got "
            f"{len(own)} and {len(given)}"
        )
    return given


def _factors(own: Tensors, given: Any) -> Iterable[Any]:
    """Return the number for each tensor; a vector of them stands for a list."""
    if isinstance(given, Tensor):
        if not given.is_contiguous():
            raise RuntimeError("Expected scalars to be contiguous.")
        if given.dim() != 1:
            raise RuntimeError(
                "Expected packed scalar Tensor to be of dimension 1. Got "
                f"{given.dim()} instead."
            )
        if given.numel() != len(own):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(own)} but "
                f"got {given.numel()} instead."
            )
        return given.tolist()  # type: ignore[attr-defined]
    return _beside(own, given)


# ---- functions ----


def _pair(name: str, call: Callable[..., Iterable[Tensor]]) -> None:
    """Declare a function over lists and its twin, which writes to its first list."""

    def fresh(self: Any, *args: Any, **named: Any) -> Tensors:
        return tuple(call(name, _listed(self, fresh.__name__), *args, **named))

    def in_place(self: Any, *args: Any, **named: Any) -> Any:
        for _ in call(f"{name}_", _listed(self, in_place.__name__), *args, **named):
            pass
        return self

    for function, suffix in ((fresh, ""), (in_place, "_")):
        function.__name__ = function.__qualname__ = f"_foreach_{name}{suffix}"
        function.__doc__ = f"Call ``{name}{suffix}`` on each tensor of a list."
        FUNCTIONS[function.__name__] = function


def _unary(name: str, own: Tensors) -> Iterable[Tensor]:
    return (getattr(each, name)() for each in own)


def _binary(name: str, own: Tensors, other: Any, **named: Any) -> Iterable[Tensor]:
    stem = name.rstrip("_")
    if stem in _WITH_ALPHA:
        alpha = named.pop("alpha", 1)
        named = {} if alpha == 1 else {"alpha": alpha}
    method = name.replace(stem, _METHOD.get(stem, stem))
    beside = _beside(own, other)
    return (getattr(a, method)(b, **named) for a, b in zip(own, beside, strict=True))


def _ternary(
    name: str,
    own: Tensors,
    tensor1: Any,
    tensor2: Any,
    *given: Any,
    value: Any = 1,
    scalars: Any = None,
) -> Iterable[Tensor]:
    lists = _beside(own, tensor1), _beside(own, tensor2)
    scalars = given[0] if given else scalars
    factors = _beside(own, value) if scalars is None else _factors(own, scalars)
    return (
        getattr(a, name)(b, c, value=n)
        for a, b, c, n in zip(own, *lists, factors, strict=True)
    )


def _lerp(
    name: str, own: Tensors, tensors1: Any, weight: Any = None, **named: Any
) -> Iterable[Tensor]:
    for key in ("weights", "scalars"):
        weight = named.pop(key, weight)
    lists = _beside(own, tensors1), _beside(own, weight)
    return (getattr(a, name)(b, w) for a, b, w in zip(own, *lists, strict=True))


for _name in _UNARY:
    _pair(_name, _unary)
for _name in _BINARY:
    _pair(_name, _binary)
for _name in _TERNARY:
    _pair(_name, _ternary)
_pair("lerp", _lerp)
del FUNCTIONS["_foreach_clone_"]

_powers = FUNCTIONS["_foreach_pow"]


@public
def _foreach_pow(self: Any, exponent: Any) -> Tensors:
    """Raise each tensor to a power, or a number to the power of each tensor."""
    if isinstance(self, int | float | complex):
        return tuple(self**each for each in _listed(exponent, "_foreach_pow"))
    return _powers(self, exponent)


@public
def _foreach_zero_(self: Any) -> Any:
    """Fill each tensor with zeros."""
    for each in _listed(self, "_foreach_zero_"):
        each.zero_()
    return self


@public
def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write the elements of each source to the tensor at its place."""
    own = _listed(self, "_foreach_copy_")
    for each, source in zip(own, _beside(own, src), strict=True):
        each.copy_(source)
    return self


@public
def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Tensors:
    """Return the norm of each tensor, whatever its shape."""
    own = _listed(self, "_foreach_norm")
    return tuple(vector_norm(each, ord, dtype=dtype) for each in own)


@public
def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Tensors:
    """Return the sum of each tensor's absolute values, raised to a power."""
    own = _listed(self, "_foreach_powsum")
    return tuple(t.abs().pow(ord).sum(dtype=dtype) for t in own)


@public
def _foreach_max(self: Any) -> Tensors:
    """Return the largest element of each tensor; raise RuntimeError if it is empty."""
    own = _listed(self, "_foreach_max")
    if not all(each.numel() for each in own):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero "
            "elements is undefined."
        )
    return tuple(each.max() for each in own)


@public
def _foreach_mm(self: Any, mat2: Any) -> Tensors:
    """Multiply the matrices of two lists, pair by pair."""
    own = _listed(self, "_foreach_mm")
    return tuple(a.mm(b) for a, b in zip(own, _beside(own, mat2), strict=True))
