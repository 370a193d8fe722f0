"""Rows for functions that are made of ops, such as ``linear``, while a profiler is on.

These are plain Python functions, which announce themselves to nobody. So a profiler
puts recording twins in their places, in the modules and classes of this package, and
takes them out again when the last one stops. A program that runs without a profiler
never pays for it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from ..overrides._guard import own_code

_PACKAGE = __name__.partition(".")[0]
_HOMES = (
    f"{_PACKAGE}.ops.",
    f"{_PACKAGE}.nn._functional.",
    f"{_PACKAGE}._dispatch.strided_views",
)
_SILENT = {  # modules whose functions PyTorch's dispatcher never sees
    f"{_PACKAGE}.ops.{name}"
    for name in (
        "creation.legacy_types",
        "memory.memory_format",
        "memory.resize_set",
        "memory.to_python",
        "tensor.operators",
        "tensor.queries",
        "tensor.repr",
    )
}
_NO_OPS = frozenset(
    {
        "as_tensor",
        "bfloat16",
        "bool",
        "broadcast_shapes",
        "byte",
        "cdouble",
        "cfloat",
        "char",
        "cpu",
        "cuda",
        "dim_order",
        "double",
        "float",
        "from_numpy",
        "frombuffer",
        "gaussian_nll_loss",
        "get_rng_state",
        "getitem",
        "gumbel_softmax",
        "half",
        "initial_seed",
        "int",
        "is_complex",
        "is_contiguous",
        "is_conj",
        "is_floating_point",
        "is_neg",
        "is_signed",
        "local_response_norm",
        "long",
        "lp_pool1d",
        "lp_pool2d",
        "lp_pool3d",
        "manual_seed",
        "multilabel_soft_margin_loss",
        "new_tensor",
        "normalize",
        "seed",
        "set_rng_state",
        "setitem",
        "short",
        "softmin",
        "softsign",
        "tanhshrink",
        "tensor",
        "triplet_margin_with_distance_loss",
        "type_as",
    }
)
"""Python functions in PyTorch too, so that it has no row of this name either."""

_NAMES = {"cross_entropy": "cross_entropy_loss", "fold": "col2im", "unfold": "im2col"}

_NOT_OF_THE_OP = frozenset({"_stacklevel", "axis", "inplace", "keepdims", "out"})
"""Parameters of a function that PyTorch's op of the same name does not take."""

_lock = threading.Lock()
_running: list[object] = []  # one entry per profiler that is on
_twins: dict[FunctionType, Callable[..., Any]] = {}
_replaced: list[tuple[Any, str, FunctionType]] = []


def install() -> None:
    """Put the twins in place, unless another profiler has done so."""
    with _lock:
        _running.append(None)
        if len(_running) == 1:
            for holder, name, function, row in list(_places()):
                _replaced.append((holder, name, function))
                _put(holder, name, _twin(function, row))


def uninstall() -> None:
    """Put the functions back when the last profiler stops."""
    with _lock:
        _running.pop()
        if not _running:
            while _replaced:
                _put(*_replaced.pop())


def _places() -> Iterator[tuple[Any, str, FunctionType, str]]:
    """Find where public functions made of ops are looked up."""
    offered = sys.modules[f"{_PACKAGE}.nn.functional"].__dict__
    public: dict[FunctionType, str] = {}
    for names in (FUNCTIONS, vars(Tensor), offered):
        for name, function in names.items():
            if type(function) is FunctionType and _is_composite(function, name):
                public.setdefault(function, name)
    holders: list[tuple[Any, dict[str, Any]]] = [(Tensor, dict(vars(Tensor)))]
    for name, module in list(sys.modules.items()):
        space = getattr(module, "__dict__", None)
        if space is not None and name.partition(".")[0] == _PACKAGE:
            holders.append((space, dict(space)))
    for holder, names in holders:
        for name, value in names.items():
            if type(value) is FunctionType and value in public:
                yield holder, name, value, public[value]


def _is_composite(function: FunctionType, name: str) -> bool:
    home = function.__module__ or ""
    return (
        home.startswith(_HOMES)
        and home not in _SILENT
        and not name.startswith(("_", "<"))
        and name not in _NO_OPS
        and not own_code(function).co_filename.startswith("<")  # an op by itself
    )


def _twin(function: FunctionType, row: str) -> Callable[..., Any]:
    if function in _twins:
        return _twins[function]
    name = f"aten::{_NAMES.get(row, row)}"
    signature = inspect.signature(function)

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # which the function is about to raise
            return list(args)
        bound.apply_defaults()
        return [v for k, v in bound.arguments.items() if k not in _NOT_OF_THE_OP]

    @functools.wraps(function)
    def twin(*args: Any, **kwargs: Any) -> Any:
        profile = mode.now.profile
        if profile is None:
            return function(*args, **kwargs)
        inputs: Any = ()
        if profile.shapes:
            gather = _creation_inputs if name in _FROM_SIZE else arguments
            inputs = gather(args, kwargs)
        return profile.composite(name, function, args, kwargs, inputs)

    _twins[function] = twin
    return twin


_FROM_SIZE = frozenset(
    f"aten::{name}" for name in ("empty", "ones", "rand", "randn", "zeros")
)
_SCALAR_TYPES = [
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
]
"""PyTorch's numbers of dtypes, in order."""


def _creation_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return what PyTorch's op gets: size, dtype, layout, device, pin_memory."""
    spread = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    dtype = str(kwargs.get("dtype", "")).removeprefix("torch.")
    number = _SCALAR_TYPES.index(dtype) if dtype in _SCALAR_TYPES else None
    size = list(kwargs.get("size", spread))
    return [size, number, None, None, bool(kwargs.get("pin_memory", False))]


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)
