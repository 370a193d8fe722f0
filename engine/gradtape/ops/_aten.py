"""``ops.aten``: PyTorch's names of single ops, for who has to choose among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from .._dispatch.declare import FUNCTIONS, OPS, tensor_ops
from .._graph.op import Op
from .._graph.registry import MODULES
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import install_names
from .._tensor.tensor import Tensor
from .tensor.native_functions import ONLY_ATEN

_ARITHMETIC: Final = frozenset(("add", "sub", "mul", "div"))
_BY_OPERAND: Final = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "rsub",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    ]
)
"""Ops with an overload for numbers, where arithmetic makes tensors of them."""

_OVERLOADS: Final = {
    "_pow_number": "Tensor_Scalar",
    "_pow_of_number": "Scalar",
    "_pow_tensors": "Tensor_Tensor",
    "_squeeze_dim": "dim",
    "_squeeze_dims": "dims",
    "_sum_dims": "dim_IntList",
    "_div_rounded": "Tensor_mode",
    "_div_unrounded": "Tensor_mode",
    "_clamp_max_number": "default",
    "_clamp_min_number": "default",
    "_floor_divide_tensor": "default",
    "_index_fill_tensor": "int_Tensor",
    "_index_fill_value": "int_Scalar",
    "_index_put_number": "default",
    "_prod_dim": "dim_int",
    "_scatter_value": "value",
    "bitwise_left_shift": "Tensor",
    "bitwise_right_shift": "Tensor",
    "norm_along": "ScalarOpt_dim",
    "scatter_reduce": "two",
    "select": "int",
    "slice": "Tensor",
    "split": "Tensor",
    "transpose": "int",
    "unbind": "int",
    "unsafe_split": "Tensor",
    "index": "Tensor",
    "where": "self",
}
_ENDINGS: Final = {
    "_number": "Scalar",
    "_numbers": "default",
    "_value": "Scalar",
    "_tensor": "Tensor",
    "_tensors": "Tensor",
    "_all": "default",
    "_plain": "default",
    "_dim": "dim",
    "_dims": "dim",
    "_src": "src",
}
_OTHER_NAMES: Final = {
    "softmax": "_softmax",
    "log_softmax": "_log_softmax",
    "nll_loss": "nll_loss_forward",
    **{f"{name}_number": name for name in _ARITHMETIC},
}


class OpOverload:
    """One op of PyTorch's table: ``aten.mm.default``. Called, it runs the op."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket = packet
        self.__module__ = f"torch._ops.{packet.namespace}"
        self.__name__ = f"{packet.__name__}.{name}"
        self._overloadname = name
        self._run: Callable[..., Any] = packet

    def name(self) -> str:
        """Return the name that schemas have: ``aten::add.Tensor``."""
        packet, plain = self.overloadpacket, self._overloadname == "default"
        ending = "" if plain else f".{self._overloadname}"
        return f"{packet.namespace}::{packet.__name__}{ending}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        asking = mode.now.asking
        if asking is not None and asking.func is self:  # by who is asked about it
            return asking.run(args, kwargs)
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"
        )


class OpOverloadPacket:
    """All overloads of one op: ``aten.add``."""

    namespace = "aten"

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        made = OpOverload(self, overload)
        setattr(self, overload, made)
        return made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:  # schemas call it that, functions "input"
            args = (kwargs.pop("self"), *args)
        name, plain = self.__name__, self.__name__.removeprefix("_")
        function = ONLY_ATEN.get(name) or FUNCTIONS.get(name) or FUNCTIONS.get(plain)
        function = function or _of_module(name)
        if function is None:
            function = getattr(Tensor, plain, None) or getattr(tensor_ops, name)
        return function(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Namespace:
    """Makes packets when they are first asked for, each only once."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        known = name in FUNCTIONS or hasattr(Tensor, name) or name in _op_names()
        known = known or name in ONLY_ATEN or _of_module(name) is not None
        if name.startswith("__") or not known:
            raise AttributeError(
                f"'_OpNamespace' 'aten' object has no attribute '{name}'"
            )
        packet = OpOverloadPacket(name)
        setattr(self, name, packet)
        return packet


_LAYERS: Final = {
    "linear": "linear",
    "log_sigmoid": "logsigmoid",
    "pad": "pad",
    "relu6": "relu6",
}
"""Functions of ``nn.functional`` that are single ops."""


@cache
def _of_module(name: str) -> Any:
    """Return what a module has under a name without its own: ``linalg_inv``."""
    home, _, rest = name.partition("_")
    if name in _LAYERS:
        home, rest = "nn.functional", _LAYERS[name]
    elif home not in ("fft", "linalg", "special"):
        return None
    return getattr(MODULES[f".{home}"], rest, None)


aten: Any = _Namespace()
"""Every op: ``ops.aten.mm.default``."""


@cache
def _op_names() -> frozenset[str]:
    names = {op.name for op in OPS.values()}
    return frozenset(names | set(_OTHER_NAMES.values()))


@cache
def _name_of(key: str, name: str, numbers: bool, suffix: str) -> OpOverload:
    if name in _BY_OPERAND:
        overload = "Scalar" if numbers else "Tensor"
    elif name.removesuffix("_number") in _ARITHMETIC:
        overload = _OVERLOADS.get(key, "Tensor")
    elif name in ("var", "std", "var_mean", "std_mean"):
        overload = "correction"
    else:
        ends = [found for end, found in _ENDINGS.items() if key.endswith(end)]
        overload = _OVERLOADS.get(key) or (
            ends[-1] if key != name and ends else "default"
        )
    packet = getattr(aten, _OTHER_NAMES.get(name, name) + suffix)
    found: OpOverload = getattr(packet, overload)
    return found


def overload_of(op: Op, args: Sequence[Any], suffix: str = "") -> OpOverload:
    """Return PyTorch's name for one of our ops, called with ``args`` as operands.

    ``suffix`` is "_" for its twin in place.

    >>> import gradtape as torch
    >>> from gradtape._dispatch.declare import OPS
    >>> from gradtape.ops._aten import overload_of
    >>> x = torch.ones(2)
    >>> overload_of(OPS["mul"], (x, x))
    <OpOverload(op='aten.mul', overload='Tensor')>
    >>> str(overload_of(OPS["_sum_dims"], (x,))), str(overload_of(OPS["gt"], (x, 2)))
    ('aten.sum.dim_IntList', 'aten.gt.Scalar')
    """
    numbers = any(isinstance(arg, int | float | complex) for arg in args)
    return _name_of(op.key, op.name, numbers, suffix)


install_names(overload_of, aten)
