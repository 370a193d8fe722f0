"""Random numbers: new tensors, and samples of what a tensor holds.

The numbers are PyTorch's, bit for bit: same seed, same generator, same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import host_like
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, public
from ..._dtypes import int64, parse_dtype
from ..._modes.grad_mode import mode
from ..._random import continuous as fill
from ..._random import integers
from ..._random import sample as draw
from ..._random.generator import Generator, default_generator
from ..._random.vmap import vmaps
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import as_integer, check_tensor, float_dtype, sizes
from .._support.memory_formats import array_in, checked_format
from .._support.new_tensor import check_out, deliver, made, module_on
from ..memory.memory_format import preserve_format
from .full import checked_size
from .like import model_of

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


@public
def rand(
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
    """Return uniform numbers in [0, 1)."""
    shape = checked_size(given, "rand", size)
    array = draw.rand(shape, draw_kind(dtype, out, "rand", layout), generator)
    return deliver(on_device(array, device), out, requires_grad, name="rand")


@public
def randn(
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
    """Return standard normal numbers."""
    shape = checked_size(given, "randn", size)
    array = draw.randn(shape, draw_kind(dtype, out, "randn", layout), generator)
    return deliver(on_device(array, device), out, requires_grad)


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


@public
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return uniform numbers in [0, 1) in the tensor's shape and dtype."""
    array, where = _like(input, "rand_like", dtype, device, layout, memory_format)
    return made(
        on_device(fill.uniform_(array, 0.0, 1.0, generator), where), requires_grad
    )


@public
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return standard normal numbers in the tensor's shape and dtype."""
    array, where = _like(input, "randn_like", dtype, device, layout, memory_format)
    return made(
        on_device(fill.normal_(array, 0.0, 1.0, generator), where), requires_grad
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
