"""Which public functions and methods are announced, and as which op."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .. import fft, linalg, special, utils
from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ..distributions import utils as draws
from ..nn import functional, init
from ..nn import utils as nn_utils
from ..nn.utils import clip_grad, rnn

_ROOT = __name__.partition(".")[0]

_SWITCHES = re.compile(
    "(get|set|is|are|autocast|clear|use|_assert|_check|_debug)_|compile|.*seed$"
    "|typename$|numel$|broadcast_shapes$|result_type$|_assert$|_check$"
)
"""Functions that only ask or set something; ``is_nonzero`` is the exception."""

_QUESTIONS = re.compile(
    "(is|get)_|__(new|hash|len|init|class|dir|dlpack_device|array_wrap)|more$"
    "|_(make_subclass|typed_storage|resize_output_|nnz|dimI|dimV|wrap_dim)$"
    "|(untyped_)?storage(_type)?$|dim_order$|(sparse|dense)_dim$|(map|map2|apply)_$"
    "|backward$|__iter__$|__reversed__$|as_subclass$"
)

_OPERATORS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "add": "add", "radd": "add", "iadd": "add_",
    "sub": "sub", "rsub": "rsub", "isub": "sub_",
    "mul": "mul", "rmul": "mul", "imul": "mul_",
    "truediv": "div", "rtruediv": "div", "rdiv": "div", "itruediv": "div_",
    "floordiv": "floor_divide", "rfloordiv": "floor_divide",
    "ifloordiv": "floor_divide_",
    "mod": "remainder", "rmod": "remainder", "imod": "remainder_",
    "pow": "pow", "rpow": "pow", "ipow": "pow_",
    "matmul": "matmul", "rmatmul": "matmul",
    "neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not",
    "and": "bitwise_and", "rand": "bitwise_and", "iand": "bitwise_and_",
    "or": "bitwise_or", "ror": "bitwise_or", "ior": "bitwise_or_",
    "xor": "bitwise_xor", "rxor": "bitwise_xor", "ixor": "bitwise_xor_",
}  # fmt: skip

UNANNOUNCED = ("__repr__", "__format__", "__reduce_ex__")
"""Methods that look at values for a reason of their own."""

_ALONE = (
    (nn_utils, ("clip_grad_norm_", "clip_grad_value_")),
    (clip_grad, ("clip_grad_norm_", "clip_grad_value_")),
    (rnn, ("pad_sequence",)),
    (draws.F, ("multinomial",)),  # their other draws are ops
    (utils.dlpack, ("from_dlpack", "to_dlpack")),
)


def op_of(name: str) -> str:
    """Return the op that a method or operator stands for."""
    return _OPERATORS.get(name.strip("_"), name) if name.startswith("__") else name


def announced_functions() -> Iterator[tuple[Any, str]]:
    """Yield module and name of each function whose calls are announced."""
    root = sys.modules[_ROOT]
    for name, value in FUNCTIONS.items():
        if not isinstance(value, type) and (
            name == "is_nonzero" or not _SWITCHES.match(name)
        ):
            yield root, name
    for module in (functional, linalg, fft, special):
        for name, value in vars(module).items():
            if _ours(name, value):
                yield module, name
    for name, value in vars(init).items():
        if _ours(name, value) and name.endswith("_"):
            yield init, name
    for module, names in _ALONE:
        for name in names:
            yield module, name


def _ours(name: str, value: Any) -> bool:
    return (
        isinstance(value, FunctionType)
        and not name.startswith("_")
        and name not in ("dtype_of", "annotations")
        and not _SWITCHES.match(name)
    )


def announced_methods() -> Iterator[tuple[type, str]]:
    """Yield class and name of each method whose calls are announced."""
    for owner in Tensor.__mro__[:-1]:
        for name, value in list(vars(owner).items()):
            if not callable(value) or isinstance(value, type):
                continue
            if name == "is_nonzero" or not (
                _QUESTIONS.match(name) or name in UNANNOUNCED or name in _MEMORY
            ):
                yield owner, name


_MEMORY = {
    *("size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset"),
    *("data_ptr", "element_size", "_is_view", "_indices", "_values", "_coalesced_"),
    *("indices", "values", "register_hook", "register_post_accumulate_grad_hook"),
}
