"""Filling a tensor in place with random numbers, PyTorch's bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._backend import META, backend_of
from ..._common.type_name import type_name
from ..._dispatch.declare import Array, method, node_name
from ..._modes.grad_mode import mode
from ..._random import continuous as fill
from ..._random import integers
from ..._random.generator import Generator
from ..._random.vmap import vmaps
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer, float_argument, is_integer
from .._support.inplace_write import written
from .._support.operands import hidden_op
from .random import check_parameters


def _fill_random(
    self: Tensor, name: str, draw_into: Callable[[Any], Any], overload: Any = ""
) -> Tensor:
    """Fill a tensor's memory with what ``draw_into`` draws into a host array."""
    backend = backend_of(self._data)
    if mode.now.watch is not None:
        mode.now.watch.check_fill(self)
    if vmaps.batches:
        vmaps.lie_beside(self)

    def store(data: Any) -> None:
        if backend.xp is np:
            draw_into(data)
        elif backend is not META:
            data[...] = backend.xp.asarray(draw_into(backend.to_host(data)))

    return written(f"{name}_", f"_fill_{name}{overload}", (self,), (), store)


def _declare_fill(name: str, number: int = 0) -> None:
    """Declare the derivative of a random fill: what was there before is lost."""

    def kernel(xp: Any, self: Array) -> Any:
        return xp.zeros_like(self)

    kernel.__doc__ = f"Fill with numbers of the distribution {name}."
    hidden_op(
        {"self": lambda F, grad: F.zeros_like(grad)},
        name=name,
        key=f"_fill_{name}{number or ''}",
        node=f"{node_name(name)[:-1]}{number}",
    )(kernel)


for _name in (
    *("uniform", "normal", "random", "exponential", "geometric", "cauchy"),
    *("log_normal", "bernoulli"),
):
    _declare_fill(_name)
_declare_fill("random", 1)
_declare_fill("random", 2)
_declare_fill("bernoulli", 1)
_declare_fill("bernoulli", 2)


_RANDOM_FORMS = ("", "int from, int to, ", "int to, ")
_BERNOULLI_FORMS = ("Tensor p, ", "float p = 0.5, ")


def _combination(name: str, given: list[Any], forms: tuple[str, ...]) -> TypeError:
    """Build PyTorch's TypeError for arguments that fit none of a fill's forms."""
    got = ", ".join("Tensor" if isinstance(v, Tensor) else type_name(v) for v in given)
    lines = [f" * ({form}*, torch.Generator generator = None)\n" for form in forms]
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but "
        f"expected one of:\n{''.join(lines)}"
    )


def _check_names(left: dict[str, Any], function: str) -> None:
    for name in left:
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")


@method()
def uniform_(
    self: Tensor,
    from_: float = 0.0,
    to: float = 1.0,
    *,
    generator: Generator | None = None,
    **named: float,
) -> Tensor:
    """Fill with uniform numbers in [from, to)."""
    low = float_argument(named.pop("from", from_), "uniform_", "from", 1)
    _check_names(named, "uniform_")
    to = float_argument(to, "uniform_", "to", 2)
    return _fill_random(self, "uniform", lambda a: fill.uniform_(a, low, to, generator))


@method()
def normal_(
    self: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers."""
    mean = float_argument(mean, "normal_", "mean", 1)
    std = float_argument(std, "normal_", "std", 2)
    return _fill_random(self, "normal", lambda a: fill.normal_(a, mean, std, generator))


@method()
def random_(
    self: Tensor,
    from_: int | None = None,
    to: Any = ...,
    *,
    generator: Generator | None = None,
    **named: int,
) -> Tensor:
    """Fill with uniform integers: ``random_(to)``, ``random_(from, to)``, or all."""
    first = named.pop("from", from_)
    _check_names(named, "random_")
    given = [bound for bound in (first, to) if bound is not None and bound is not ...]
    if not all(map(is_integer, given)):
        raise _combination("random_", given, _RANDOM_FORMS)
    if to is ...:
        first, to = (0, first) if from_ is not None else (first, None)
    whole = first is None and to is None
    low = 0 if first is None else as_integer(first, "random_", "from", 1)
    high = None if to is None else as_integer(to, "random_", "to", 2)
    return _fill_random(
        self,
        "random",
        lambda a: integers.random_(a, low, high, generator, whole_range=whole),
        2 if whole else "" if low else 1,
    )


@method()
def exponential_(
    self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exponential numbers of rate ``lambd``."""
    lambd = float_argument(lambd, "exponential_", "lambd", 1)
    return _fill_random(
        self, "exponential", lambda a: fill.exponential_(a, lambd, generator)
    )


@method()
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success."""
    p = float_argument(p, "geometric_", "p", 1)
    return _fill_random(self, "geometric", lambda a: fill.geometric_(a, p, generator))


@method()
def cauchy_(
    self: Tensor,
    median: float = 0.0,
    sigma: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with Cauchy numbers."""
    median = float_argument(median, "cauchy_", "median", 1)
    sigma = float_argument(sigma, "cauchy_", "sigma", 2)
    return _fill_random(
        self, "cauchy", lambda a: fill.cauchy_(a, median, sigma, generator)
    )


@method()
def log_normal_(
    self: Tensor,
    mean: float = 1.0,
    std: float = 2.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers whose logarithm is normal."""
    mean = float_argument(mean, "log_normal_", "mean", 1)
    std = float_argument(std, "log_normal_", "std", 2)
    return _fill_random(
        self, "log_normal", lambda a: fill.log_normal_(a, mean, std, generator)
    )


@method()
def bernoulli_(
    self: Tensor, p: Any = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with ones with probability ``p``, a number or a tensor of them."""
    chance: Any = p
    if isinstance(p, Tensor):
        chance = p._data
        check_parameters(p)
        if mode.now.watch is not None:
            mode.now.watch.check_write("inplace bernoulli", (self, p))
    elif not isinstance(p, int | float | np.number):
        raise _combination("bernoulli_", [p], _BERNOULLI_FORMS)
    return _fill_random(
        self,
        "bernoulli",
        lambda a: fill.bernoulli_(a, chance, generator),
        1 if isinstance(p, Tensor) else 2,
    )
