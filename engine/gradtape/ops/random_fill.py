"""Filling a tensor in place with random numbers, PyTorch's bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _random_fill as fill
from .. import _random_integers as integers
from .._backend import META, backend_of
from .._define import Array, method, node_name, op
from .._generator import Generator
from .._tensor import Tensor
from ._writing import written


def _fill_random(
    self: Tensor, name: str, draw_into: Callable[[Any], Any], overload: Any = ""
) -> Tensor:
    """Fill a tensor's memory with what ``draw_into`` draws into a host array."""
    backend = backend_of(self._data)

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
    op(
        {"self": lambda F, grad: F.zeros_like(grad)},
        name=name,
        key=f"_fill_{name}{number or ''}",
        node=f"{node_name(name)[:-1]}{number}",
        method=False,
        function=False,
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
    low = named.pop("from", from_)
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
    if to is ...:
        first, to = (0, first) if from_ is not None else (first, None)
    whole = first is None and to is None
    return _fill_random(
        self,
        "random",
        lambda a: integers.random_(a, first or 0, to, generator, whole_range=whole),
        2 if whole else "" if first else 1,
    )


@method()
def exponential_(
    self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exponential numbers of rate ``lambd``."""
    return _fill_random(
        self, "exponential", lambda a: fill.exponential_(a, lambd, generator)
    )


@method()
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success."""
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
    return _fill_random(
        self, "log_normal", lambda a: fill.log_normal_(a, mean, std, generator)
    )


@method()
def bernoulli_(
    self: Tensor, p: Any = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with ones with probability ``p``, a number or a tensor of them."""
    chance = p._data if isinstance(p, Tensor) else p
    return _fill_random(
        self,
        "bernoulli",
        lambda a: fill.bernoulli_(a, chance, generator),
        1 if isinstance(p, Tensor) else 2,
    )
