"""Rows for functions that are made of ops, such as ``linear``, while a profiler is on.

These are plain Python functions, which announce themselves to nobody. So a profiler
puts recording twins in their places, in the modules and classes of this package, and
takes them out again when the last one stops. A program that runs without a profiler
never pays for it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ._define import FUNCTIONS
from ._mode import mode
from ._tensor import Tensor

_PACKAGE = __name__.partition(".")[0]
_HOMES = (f"{_PACKAGE}.ops.", f"{_PACKAGE}.nn._functional.")
_SILENT = {  # modules whose functions PyTorch's dispatcher never sees
    f"{_PACKAGE}.ops.{name}"
    for name in "formats legacy memory operators queries represent values".split()
}
_NO_OPS = frozenset(
    "as_tensor bfloat16 bool broadcast_shapes byte cdouble cfloat char cpu cuda "
    "dim_order double float from_numpy frombuffer gaussian_nll_loss get_rng_state "
    "getitem gumbel_softmax half initial_seed int is_complex is_contiguous is_conj "
    "is_floating_point is_neg is_signed local_response_norm long lp_pool1d lp_pool2d "
    "lp_pool3d manual_seed multilabel_soft_margin_loss new_tensor normalize seed "
    "set_rng_state setitem short softmin softsign tanhshrink tensor "
    "triplet_margin_with_distance_loss type_as".split()
)
"""Python functions in PyTorch too, so that it has no row of this name either."""

_NAMES = {"cross_entropy": "cross_entropy_loss", "fold": "col2im", "unfold": "im2col"}

_lock = threading.Lock()
_running = 0
_twins: dict[FunctionType, Callable[..., Any]] = {}
_replaced: list[tuple[Any, str, FunctionType]] = []


def install() -> None:
    """Put the twins in place, unless another profiler has done so."""
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            for holder, name, function, row in list(_places()):
                _replaced.append((holder, name, function))
                _put(holder, name, _twin(function, row))


def uninstall() -> None:
    """Put the functions back when the last profiler stops."""
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
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
        and not function.__code__.co_filename.startswith("<")  # an op by itself
    )


def _twin(function: FunctionType, row: str) -> Callable[..., Any]:
    found = _twins.get(function)
    if found is None:
        name = f"aten::{_NAMES.get(row, row)}"

        @functools.wraps(function)
        def found(*args: Any, **kwargs: Any) -> Any:
            profile = mode.now.profile
            if profile is None:
                return function(*args, **kwargs)
            return profile.composite(name, function, args, kwargs)

        _twins[function] = found
    return found


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)
