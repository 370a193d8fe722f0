"""Attributes that matter are calls too, ``.grad``, ``.data``; and constructors.

They count where the user's own line uses them, not the engine on its behalf.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .._graph.observe import call_listeners, calling
from .._tensor.tensor import Tensor
from ..nn.parameter import Parameter
from ..ops.creation.legacy_types import LegacyType

Announcing: TypeAlias = Callable[[str | None, Any], Any]

_VIEWS = ("T", "H", "mT", "mH", "real", "imag")


def announcing_attributes(announcing: Announcing) -> Iterator[tuple[Any, str, Any]]:
    """Yield owner, name and property of each attribute that is announced."""
    for name in _VIEWS:
        attribute = vars(Tensor)[name]
        get = announcing(name, attribute.fget)
        yield Tensor, name, property(get, attribute.fset, attribute.fdel)
    for owner, name, reads in (
        (Tensor, "data", True),
        (Tensor, "requires_grad", False),
        (Tensor, "grad", True),
    ):
        attribute = vars(owner)[name]
        get, put = attribute.fget, attribute.fset
        if reads:
            get = _get_by_user(announcing(f"{name}.get", get), get)
        put = _by_user(announcing(f"{name}.set", put), put)
        yield owner, name, property(get, put, attribute.fdel, attribute.__doc__)


def announcing_constructors(announcing: Announcing) -> Iterator[tuple[Any, str, Any]]:
    """Yield the same of ``Tensor(…)``, ``FloatTensor(…)`` and ``Parameter(…)``."""
    new = vars(Tensor)["__new__"]
    yield Tensor, "__new__", _by_user(announcing(None, new), new)
    made_by = vars(Parameter)["__new__"].__func__
    parameter = _by_user(announcing(None, made_by), made_by)
    yield Parameter, "__new__", staticmethod(parameter)
    called = vars(LegacyType)["__call__"]
    yield LegacyType, "__call__", _by_user(announcing(None, called), called)


def _by_user(announced: Any, original: Any) -> Any:
    def access(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if calling.now.depth or not call_listeners:
            return original(*args, **kwargs)
        files = call_listeners[-1].user_files
        if not files[sys._getframe(1).f_code.co_filename]:
            return original(*args, **kwargs)
        return announced(*args, **kwargs)

    return access


def _get_by_user(announced: Any, original: Any) -> Any:
    """Do the same for an attribute that is read: engines read ``.grad`` often."""

    def get(tensor: Any) -> Any:
        __tracebackhide__ = True
        if calling.now.depth or not call_listeners:
            return original(tensor)
        files = call_listeners[-1].user_files
        if not files[sys._getframe(1).f_code.co_filename]:
            return original(tensor)
        return announced(tensor)

    return get
