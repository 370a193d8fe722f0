"""The names of things in files: those that PyTorch gives them, whatever ours are."""

from __future__ import annotations

import importlib
from itertools import takewhile
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from ..ops.creation.legacy_types import LegacyType
from ..ops.memory.memory_format import memory_format as MemoryFormat
from ..ops.memory.storages import LegacyStorage

_KEPT_ELSEWHERE = {
    "_get_layout": "torch.serialization",
    "_rebuild_from_type_v2": "torch._tensor",
}
"""What PyTorch keeps in a module that is private here, or has other tasks."""

_SPLIT = (
    "torch",
    "torch.distributions",
    "torch.nn",
    "torch.nn.modules",
    "torch.nn.utils",
    "torch.optim",
    "torch.utils",
)
"""Packages whose names may be sorted into other files here than in PyTorch."""


def name_in_file(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Return the module and name that stand for one of our objects in a file.

    None for what is not ours, or is not a name of a module.
    """
    if isinstance(obj, DType | MemoryFormat):
        return "torch", repr(obj).removeprefix("torch.")
    if isinstance(obj, LegacyStorage | LegacyType):
        return "torch", obj.__name__
    module = getattr(obj, "__module__", None)
    if module is None and FUNCTIONS.get(getattr(obj, "__name__", "")) is obj:
        return "torch", obj.__name__
    if _functional(obj):
        return "torch.nn.functional", obj.__name__
    if FUNCTIONS.get(getattr(obj, "__name__", "")) is obj:
        return "torch", obj.__name__
    found = name or getattr(obj, "__qualname__", None)
    if type(module) is not str or type(found) is not str or "<" in found:
        return None
    return torch_name(module, found)


def _functional(obj: Any) -> bool:
    """Tell whether an object is a function that nn.functional takes from the ops."""
    from ..nn import functional

    shown = getattr(obj, "__name__", None)
    return type(shown) is str and getattr(functional, shown, None) is obj


def torch_name(module: str, name: str) -> tuple[str, str] | None:
    """Return PyTorch's module and name for one of ours; None where it is not ours.

    What a private room holds, or a family of ops, belongs to the package around it.

    >>> torch_name("gradtape.nn.modules.linear", "Linear")
    ('torch.nn.modules.linear', 'Linear')
    >>> torch_name("gradtape.optim.lr_scheduler._steps", "StepLR")
    ('torch.optim.lr_scheduler', 'StepLR')
    """
    package, *parts = module.split(".")
    if package != "gradtape":
        return None
    if name in _KEPT_ELSEWHERE:
        return _KEPT_ELSEWHERE[name], name
    public = takewhile(_is_public, parts)
    return ".".join(["torch", *public]), name


def _is_public(part: str) -> bool:
    return part in ("_C", "_utils") or not (part[0] == "_" or part == "ops")


def find(module: str, name: str) -> Any:
    """Return what a name in a file stands for here.

    Raises ModuleNotFoundError or AttributeError where there is no such thing.
    """
    if module.partition(".")[0] != "torch":
        return _attribute(module, name)
    if name.startswith("_VariableFunctions"):  # PyTorch's home of torch.relu and such
        return importlib.import_module("gradtape")
    if name == "_rebuild_from_type_v2":
        module = "torch._utils"
    if module == "torch._C._nn":
        module = "torch.nn.functional"
    package = module.rpartition(".")[0]
    try:
        return _attribute("gradtape" + module[5:], name)
    except (ModuleNotFoundError, AttributeError):
        if package not in _SPLIT:
            raise
    return _attribute("gradtape" + package[5:], name)


def _attribute(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
