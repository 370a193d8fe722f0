"""Autocast: ops choose the precision they compute in, while a thread asks for it.

Ops look at ``mode.now.casting`` on their general path (``_dispatch/apply.py``). What
PyTorch has as one op and this package composes of several is marked with
:func:`autocasts`; within it, autocast is off, as it is below the op in PyTorch.
"""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

from .._backend.device import device as Device
from .._common.messages import not_bool
from .._common.site import user_stacklevel
from .._dispatch.apply import apply
from .._dispatch.declare import OPS, public
from .._dtypes import bfloat16, float16, float32, float64
from .._dtypes import dtype as DType
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from .op_lists import RULES, Rule

F = TypeVar("F", bound=Callable[..., Any])

OTHER_PRECISION: Final = "Unexpected floating ScalarType in at::autocast::prioritize"
BANNED: Final = """\
torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.
Many models use a sigmoid layer right before the binary cross entropy layer.
In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits
or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are
safe to autocast."""  # noqa: E501 - PyTorch's lines

DEFAULT_DTYPES: Final[dict[str, DType]] = {
    **dict.fromkeys(("cpu", "hpu", "maia", "xla"), bfloat16),
    **dict.fromkeys(("cuda", "ipu", "mps", "mtia", "privateuseone", "xpu"), float16),
}
"""The device types that autocast can be on for, and what it casts to there."""


class Autocast(threading.local):
    """What a thread has asked of autocast; every thread begins with all of it off."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = dict.fromkeys(DEFAULT_DTYPES, False)
        self.dtypes = dict(DEFAULT_DTYPES)
        self.nesting = 0  # blocks that are open; the cache ends with the outermost
        self.cache_enabled = True
        self.cache: dict[tuple[int, bool], tuple[weakref.ref[Tensor], Tensor]] = {}

    def settle(self) -> None:
        """Tell this thread's ops what is on."""
        on = [Caster(self, name) for name in RULES if self.enabled[name]]
        now = mode.now
        now.casting = Casting(tuple(on)) if on else None
        now.settle()

    def cached(self, tensor: Tensor, dtype: DType) -> Tensor:
        """Cast a parameter once for all ops of a block."""
        key = id(tensor), mode.grad
        known = self.cache.get(key)
        if known is None or known[0]() is not tensor or known[1].dtype is not dtype:
            known = weakref.ref(tensor), converted(tensor, dtype)
            self.cache[key] = known
        return known[1]


state = Autocast()


class Caster:
    """Autocast for the tensors of one device type."""

    def __init__(self, owner: Autocast, device_type: str) -> None:
        self.owner = owner
        self.device_type = device_type
        self.dtype = owner.dtypes[device_type]
        self.rules = RULES[device_type]

    def takes(self, value: Any) -> bool:
        """Tell whether autocast may cast this argument."""
        return (
            isinstance(value, Tensor)
            and value.dtype.is_floating_point
            and value.dtype is not float64
            and value.device.type == self.device_type
        )

    def meets(self, values: Iterable[Any]) -> bool:
        """Tell whether a tensor of the device type is among the arguments."""
        return any(
            self.meets(value)
            if isinstance(value, list | tuple)
            else isinstance(value, Tensor) and value.device.type == self.device_type
            for value in values
        )

    def cast(self, value: Any, dtype: DType) -> Any:
        """Return an argument, or a list of them, in ``dtype`` where that applies."""
        if isinstance(value, list | tuple):
            kept = [self.cast(each, dtype) for each in value]
            return kept if any(isinstance(each, Tensor) for each in kept) else value
        if not self.takes(value) or value.dtype is dtype:
            return value
        if (
            dtype is self.dtype
            and self.owner.cache_enabled
            and value.dtype is float32
            and value._needs
            and value._grad_fn is None
            and value._view is None
        ):
            return self.owner.cached(value, dtype)
        return converted(value, dtype)

    def widest(self, values: Iterable[Any]) -> DType:
        """Return the widest dtype among the arguments.

        Raises RuntimeError for a low precision that is not autocast's own.
        """
        found = self.dtype
        for value in values:
            if isinstance(value, list | tuple):
                other = self.widest(value)
            elif self.takes(value):
                other = value.dtype
            else:
                continue
            if float32 in (found, other):
                found = float32
            elif (found, other) != (self.dtype, self.dtype):
                raise RuntimeError(OTHER_PRECISION)
        return found

    def adjusted(self, rule: Rule, values: tuple[Any, ...], asked: bool) -> Any:
        """Return the arguments of a call as a rule wants them.

        ``asked`` says that the caller named a dtype for the result.
        """
        if rule == "banned":
            raise RuntimeError(BANNED)
        if rule == "full sum":
            if asked or not self.takes(values[0]):
                return values
            return (self.cast(values[0], float32), *values[1:])
        if rule == "lower":
            dtype = self.dtype
        else:
            dtype = float32 if rule == "full" else self.widest(values)
        return tuple([self.cast(value, dtype) for value in values])


class Casting:
    """Autocast for the device types that it is on for, as one thread's ops see it."""

    __slots__ = ("casters",)

    def __init__(self, casters: tuple[Caster, ...]) -> None:
        self.casters = casters

    def op(
        self, op: Any, args: tuple[Any, ...], params: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return the tensors of a call as the rule for the op wants them."""
        for caster in self.casters:
            rule = caster.rules.get(op.name)
            if rule is not None and caster.meets(args):
                options = dict(zip(op.options, params, strict=True))
                args = caster.adjusted(rule, args, options.get("dtype") is not None)
        return args

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call what PyTorch has as one op: its arguments are cast, nothing below is."""
        left = self.casters
        for caster in self.casters:
            rule = caster.rules.get(name)
            values = (*args, *kwargs.values())
            if rule is None or not caster.meets(values):
                continue
            values = caster.adjusted(rule, values, kwargs.get("dtype") is not None)
            args = values[: len(args)]
            kwargs = dict(zip(kwargs, values[len(args) :], strict=True))
            left = tuple([each for each in left if each is not caster])
        return without(Casting(left) if left else None, function, args, kwargs)


def without(
    rest: Casting | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function while only ``rest`` of what is on casts."""
    now = mode.now
    whole, now.casting = now.casting, rest
    try:
        return function(*args, **kwargs)
    finally:
        now.casting = whole


def autocasts(name: str) -> Callable[[F], F]:
    """Mark a function made of ops as PyTorch's op ``name``, which autocast may list."""

    def mark(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            casting = mode.now.casting
            if casting is None or kwargs.get("out") is not None:
                return function(*args, **kwargs)
            return casting.call(name, function, args, kwargs)

        return cast(F, wrapper)

    return mark


def converted(tensor: Tensor, dtype: DType) -> Tensor:
    """Return a copy in another dtype, which gradients flow through."""
    return apply(OPS["_to_copy"], (tensor,), (dtype, True))


# ---- what programs read and set ----

_NO_KEY = (
    "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
)
_DEPRECATED = "torch.{old} is deprecated. Please use torch.{new} instead."


def is_available(device_type: str) -> bool:
    """Tell whether autocast can be on for a type of device.

    Raises RuntimeError for what is no type of device.
    """
    if not isinstance(device_type, str):
        raise TypeError(
            "_is_autocast_available(): argument 'device_type' (position 1) must be "
            f"str, not {type(device_type).__name__}"
        )
    return Device(device_type).type in DEFAULT_DTYPES


def _known(device_type: str) -> str:
    name = Device(device_type).type
    if name not in DEFAULT_DTYPES:
        raise RuntimeError(_NO_KEY)
    return name


@public
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Tell whether autocast is on in this thread, for "cuda" unless named.

    >>> import gradtape as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return state.enabled["cuda" if device_type is None else _known(device_type)]


@public
def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast; ``set_autocast_enabled(True)`` alone means "cuda"."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        raise not_bool(enabled, "set_autocast_enabled", "enabled")
    state.enabled[_known(device_type)] = enabled
    state.settle()


@public
def get_autocast_dtype(device_type: str) -> DType:
    """Return what autocast casts to for a type of device.

    >>> import gradtape as torch
    >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16)
    """
    name = Device(device_type).type
    if name == "hip":  # PyTorch's other name for what it calls cuda
        return float16
    if name not in DEFAULT_DTYPES:
        raise RuntimeError("unsupported scalarType")
    return state.dtypes[name]


@public
def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose what autocast casts to for a type of device."""
    state.dtypes[_known(device_type)] = dtype
    state.settle()


@public
def is_autocast_cache_enabled() -> bool:
    """Tell whether parameters are cast once per block and not once per op."""
    return state.cache_enabled


@public
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the cache of cast parameters."""
    state.cache_enabled = enabled


@public
def clear_autocast_cache() -> None:
    """Forget the parameters that were cast in this block."""
    state.cache.clear()


@public
def autocast_increment_nesting() -> int:
    """Note that a block begins; return how many are open."""
    state.nesting += 1
    return state.nesting


@public
def autocast_decrement_nesting() -> int:
    """Note that a block ends; return how many are still open."""
    state.nesting -= 1
    return state.nesting


def any_enabled() -> bool:
    """Tell whether autocast is on for any type of device."""
    return any(state.enabled.values())


def supported_devices() -> list[str]:
    """Return the types of device that autocast can be on for."""
    return list(DEFAULT_DTYPES)


# ---- the older functions, one per device type --------------------------------------


def _deprecated(
    old: str, new: str, takes: str, function: Callable[..., Any], *first: Any
) -> None:
    said = _DEPRECATED.format(old=f"{old}({takes})", new=new)

    def call(*args: Any) -> Any:
        warnings.warn(said, DeprecationWarning, stacklevel=user_stacklevel())
        return function(*first, *args)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"Deprecated, as in PyTorch: use ``{new}``."
    public(call)


def _older_names() -> None:
    for short, name in (
        ("cpu", "cpu"),
        ("gpu", "cuda"),
        ("ipu", "ipu"),
        ("xla", "xla"),
    ):
        said = f"('{name}')"
        _deprecated(
            f"get_autocast_{short}_dtype",
            f"get_autocast_dtype{said}",
            "",
            get_autocast_dtype,
            name,
        )
        _deprecated(
            f"set_autocast_{short}_dtype",
            f"set_autocast_dtype('{name}', dtype)",
            "dtype",
            set_autocast_dtype,
            name,
        )
        if short == "gpu":
            continue  # is_autocast_enabled() itself
        _deprecated(
            f"is_autocast_{short}_enabled",
            f"is_autocast_enabled{said}",
            "",
            is_autocast_enabled,
            name,
        )
        _deprecated(
            f"set_autocast_{short}_enabled",
            f"set_autocast_enabled('{name}', enabled)",
            "enabled",
            set_autocast_enabled,
            name,
        )


_older_names()
