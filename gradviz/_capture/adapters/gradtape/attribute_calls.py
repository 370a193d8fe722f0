"""Attributes that matter are calls too, ``.grad``, ``.data``; and constructors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gradtape._debug import LegacyType, Tensor
from gradtape.nn.parameter import Parameter
from gradviz._capture.adapters.gradtape.calls import here
from gradviz._capture.adapters.gradtape.patches import stand_in

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.log import GradtapeLog

_VIEWS = ("T", "H", "mT", "mH", "real", "imag")


def stand_in_for_attributes(log: GradtapeLog) -> None:
    """Log reads and writes of the attributes that rules ask for."""
    for name in _VIEWS:
        attribute = vars(Tensor)[name]
        assert attribute.fget is not None
        put = attribute.fset
        logged = property(stand_in(log, name, attribute.fget), put, attribute.fdel)
        log.stand(Tensor, name, logged)
    for owner, name, reads in (
        (Tensor, "data", True),
        (Tensor, "requires_grad", False),
        (Tensor, "grad", True),
    ):
        attribute = vars(owner)[name]
        get, put = attribute.fget, attribute.fset
        if reads:
            get = _get_by_user(log, stand_in(log, f"{name}.get", get), get)
        put = _by_user(log, stand_in(log, f"{name}.set", put), put)
        log.stand(owner, name, property(get, put, attribute.fdel, attribute.__doc__))


def stand_in_for_constructors(log: GradtapeLog) -> None:
    """Log ``Tensor(…)``, ``FloatTensor(…)`` and ``Parameter(…)``."""
    new = vars(Tensor)["__new__"]
    log.stand(Tensor, "__new__", _by_user(log, stand_in(log, None, new), new))
    made_by = vars(Parameter)["__new__"].__func__
    parameter = _by_user(log, stand_in(log, None, made_by), made_by)
    log.stand(Parameter, "__new__", staticmethod(parameter))
    called = vars(LegacyType)["__call__"]
    legacy = _by_user(log, stand_in(log, None, called), called)
    log.stand(LegacyType, "__call__", legacy)


def _by_user(log: GradtapeLog, logged: Any, original: Any) -> Any:
    """Log only what the user's own line does, not the engine on its behalf."""
    user_files = log.user_files

    def access(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if here.now.busy or not user_files[sys._getframe(1).f_code.co_filename]:
            return original(*args, **kwargs)
        return logged(*args, **kwargs)

    return access


def _get_by_user(log: GradtapeLog, logged: Any, original: Any) -> Any:
    """Do the same for an attribute that is read: engines read ``.grad`` often."""
    user_files = log.user_files

    def get(tensor: Any) -> Any:
        __tracebackhide__ = True
        if here.now.busy or not user_files[sys._getframe(1).f_code.co_filename]:
            return original(tensor)
        return logged(tensor)

    return get
