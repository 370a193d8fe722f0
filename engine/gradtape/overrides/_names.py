"""Which functions ask modes and classes, and what they are called."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from .._tensor.tensor import Tensor
from ._guard import arm, entries
from ._overridable import FACTORIES, SHARED_LAYERS, SILENT

_OWNERS = (
    "",
    ".functional",
    ".nn.functional",
    ".nn.init",
    "Tensor",
    ".linalg",
    ".fft",
    ".special",
)


@cache
def _owners() -> tuple[tuple[str, Any], ...]:
    package = __name__.partition(".")[0]
    return tuple(
        (f"torch{path}", importlib.import_module(package + path))
        if path != "Tensor"
        else ("torch.Tensor", Tensor)
        for path in _OWNERS
    )


@cache
def _named() -> tuple[dict[Any, list[Any]], dict[Any, str]]:
    """Return the functions that ask by owner, and the names of all of them."""
    arm()
    by_owner: dict[Any, list[Any]] = {}
    names: dict[Any, str] = {}
    for path, owner in _owners():
        for name in dir(owner):
            found = inspect.getattr_static(owner, name)
            if type(found) is property:
                _add_property(path, owner, name, found, by_owner, names)
            elif type(found) is types.FunctionType:
                if name in SHARED_LAYERS or found not in names:
                    names[found] = f"{path}.{name}"
                private = name.startswith("_") and owner is not Tensor
                if found in entries and not private and name not in FACTORIES:
                    by_owner.setdefault(owner, []).append(found)
    return by_owner, names


def _add_property(
    path: str,
    owner: Any,
    name: str,
    found: property,
    by_owner: dict[Any, list[Any]],
    names: dict[Any, str],
) -> None:
    for act in ("get", "set"):
        names[getattr(found, f"__{act}__")] = f"{path}.{name}.__{act}__"
    if found.fget in entries:
        by_owner.setdefault(found, []).append(found.__get__)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions in which classes have a say, by the module or class.

    >>> import gradtape as torch
    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {owner: list(found) for owner, found in _named()[0].items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions that no class of tensors can answer for."""
    found: set[Callable[..., Any]] = set()
    for _, owner in _owners():
        for name in SILENT | FACTORIES:
            value = getattr(owner, name, None)
            if callable(value):
                found.add(value)
    return found


@cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each of them, a function of the same arguments that gives -1."""
    listed = [each for found in _named()[0].values() for each in found]
    return {function: _minus_one(function) for function in listed}


def _minus_one(function: Any) -> Callable[..., Any]:
    if not isinstance(function, types.FunctionType):
        return lambda self: -1
    heads: list[str] = []
    for p in inspect.signature(entries[function].plain).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            heads.append(f"*{p.name}")
        elif p.kind is p.VAR_KEYWORD:
            heads.append(f"**{p.name}")
        else:
            if p.kind is p.KEYWORD_ONLY and not any(h.startswith("*") for h in heads):
                heads.append("*")
            needed = p.default is p.empty and p.kind is not p.KEYWORD_ONLY
            heads.append(f"{p.name}=None" if heads and not needed else p.name)
    return eval(f"lambda {', '.join(heads)}: -1")


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the public name of a function as ``__torch_function__`` gets it.

    >>> import gradtape as torch
    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    try:
        return _named()[1].get(f)
    except TypeError:  # what cannot be hashed is none of them
        return None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Tell whether a function is a method or attribute of Tensor.

    >>> import gradtape as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add_)
    True
    """
    return func in _methods() or getattr(func, "__name__", "") == "__get__"


@cache
def _methods() -> frozenset[Any]:
    values = (inspect.getattr_static(Tensor, name) for name in dir(Tensor))
    return frozenset(v for v in values if type(v) is types.FunctionType)
