"""Random numbers: seeds, new tensors, and tensors that are filled.

The numbers are PyTorch's, bit for bit: same seed, same generator, same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._backend import META, backend_of, host_like
from ..._common.type_name import type_name
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method, node_name, public
from ..._dtypes import int64, parse_dtype
from ..._modes.grad_mode import mode
from ..._random import continuous as fill
from ..._random import integers
from ..._random import sample as draw
from ..._random.generator import Generator, default_generator
from ..._random.vmap import vmaps
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import (
    as_integer,
    check_tensor,
    float_argument,
    float_dtype,
    is_integer,
    sizes,
)
from .._support.inplace_write import written
from .._support.memory_formats import array_in, checked_format
from .._support.new_tensor import check_out, deliver, made, module_on
from .._support.operands import hidden_op
from .._support.signed import renamed
from ..memory.memory_format import preserve_format
from .factories import checked_size, model_of

Generator.wrap_state = wrap  # type: ignore[assignment] - states are tensors here


# ---- the default generator ----


@public
def manual_seed(seed: Any) -> Generator:
    """Restart the default generator's stream, and return the generator.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


@public
def seed() -> int:
    """Restart the default generator with a seed from the operating system."""
    return default_generator.seed()


@public
def initial_seed() -> int:
    """Return the seed that the default generator's stream began with."""
    return default_generator.initial_seed()


@public
def get_rng_state() -> Tensor:
    """Return the state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


@public
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state."""
    default_generator.set_state(new_state)


# ---- new tensors ----


def check_parameters(*given: Any) -> None:
    """Refuse the same numbers for all examples of a vmap, drawn with those of each."""
    if mode.now.watch is not None:
        mode.now.watch.check_draw(given)


def sampled(name: str, parameters: tuple[Tensor, ...], generator: Any) -> Any:
    """Draw from distributions whose parameters tensors hold."""
    check_parameters(*parameters)
    return apply(OPS[name], parameters, (generator,))


def on_device(array: Any, device: Any) -> Any:
    xp = module_on(device)
    return array if xp is np else xp.asarray(array)


def draw_kind(dtype: Any, out: Tensor | None, function: str, layout: Any = None) -> Any:
    check_out(out, dtype, layout)
    if dtype is None and out is not None:
        return out.dtype
    return float_dtype(dtype, function)


def _drawn(name: str, said: str, doc: str) -> Callable[..., Tensor]:
    """Return rand or randn; refusals of ``out=`` call it ``said``."""

    @public
    @renamed(name, doc)
    def made_of(
        *given: Any,
        size: Any = None,
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        shape = checked_size(given, name, size)
        kind = draw_kind(dtype, out, name, layout)
        array = getattr(draw, name)(shape, kind, generator)
        return deliver(on_device(array, device), out, requires_grad, name=said)

    return made_of


rand = _drawn("rand", "rand", "Return uniform numbers in [0, 1).")
randn = _drawn("randn", "", "Return standard normal numbers.")


@public
def randint(
    *given: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return uniform integers in [low, high); ``low`` is 0 where it is left out.

    Raises RuntimeError where the range is empty or does not fit the dtype.
    """
    first, last, shape = _bounds_and_size(list(given), low, high, size, "randint")
    check_out(out, dtype, layout, device)
    kind = int64 if dtype is None else parse_dtype(dtype, "randint")
    if dtype is None and out is not None:
        kind = out.dtype
    array = draw.randint(first, last, shape, kind, generator)
    return deliver(on_device(array, device), out, requires_grad, name="randint")


def _bounds_and_size(
    given: list[Any], low: Any, high: Any, size: Any, function: str
) -> tuple[int, int, tuple[int, ...]]:
    """Sort out ``(high, size)`` and ``(low, high, size)``, by position or name."""
    if size is None:
        if not given:
            raise TypeError(
                f'{function}() missing 1 required positional arguments: "size"'
            )
        size = given.pop()
        shape = sizes(size, function, "size", len(given) + 1)
    else:
        shape = sizes(size, function)
    if high is None:
        high = given.pop() if given else None
    if low is None:
        low = given.pop() if given else 0
    return (
        as_integer(low, function, "low", 1),
        as_integer(high, function, "high", 1),
        checked_size((shape,), function),
    )


@public
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the integers from 0 to n - 1 in random order."""
    check_out(out, dtype, layout, device)
    kind = int64 if out is None else out.dtype
    if dtype is not None:
        kind = parse_dtype(dtype, "randperm")
    array = draw.randperm(n, kind, generator)
    return deliver(on_device(array, device), out, requires_grad, name="randperm")


def _like(
    input: Any, function: str, dtype: Any, device: Any, layout: Any, order: Any
) -> Any:
    source = check_tensor(input, function)
    if type(source) is not Tensor and hasattr(source, "refuse"):
        source.refuse(function)  # it still waits for its shape
    kind = None if dtype is None else parse_dtype(dtype, function)
    if vmaps.batches and order in (None, preserve_format):
        vmaps.lie_beside(source)
    host = host_like(model_of(source, layout, order))
    array = array_in(np, host, checked_format(order, function, source), kind)
    return array, source.device if device is None else device


def _drawn_like(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    @public
    @renamed(name, doc)
    def like(
        input: Tensor,
        *,
        generator: Generator | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        array, where = _like(input, name, dtype, device, layout, memory_format)
        return made(on_device(draw(array, 0.0, 1.0, generator), where), requires_grad)

    return like


rand_like = _drawn_like(
    "rand_like",
    fill.uniform_,
    "Return uniform numbers in [0, 1) in the tensor's shape and dtype.",
)
randn_like = _drawn_like(
    "randn_like",
    fill.normal_,
    "Return standard normal numbers in the tensor's shape and dtype.",
)


@public
def randint_like(
    input: Tensor,
    *given: Any,
    low: int | None = None,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return uniform integers in [low, high) in the tensor's shape and dtype."""
    array, where = _like(input, "randint_like", dtype, device, layout, memory_format)
    first, last, _ = _bounds_and_size(list(given), low, high, (), "randint_like")
    return made(
        on_device(integers.random_(array, first, last, generator), where),
        requires_grad,
    )


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
