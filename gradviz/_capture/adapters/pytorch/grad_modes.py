"""Notices when gradients are switched off and on, and on whose line."""

from __future__ import annotations

import inspect
import sys
from threading import get_ident
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.names.tensors import locals_of
from gradviz._capture.training_loop.patches import Patches
from gradviz.program.events import ModeSwitched

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext

_MOST_ROLES = 1_000  # pieces of code that are remembered

_Role: TypeAlias = tuple[CodeType, str, str]
"""Code, the switch it belongs to, if any, and its part in switching."""

_SWITCHES = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")


class TorchModes:
    """Turns switches of grad mode and inference mode into events."""

    def __init__(self, torch: Any, log: TorchContext) -> None:
        self.torch = torch
        self.log = log
        self._patches = Patches()
        self._roles: dict[int, _Role] = {}  # by id of the code, which is kept

    def install(self) -> None:
        """Wrap the inference mode's switches: the function mode does not see them."""
        modes, cls = self, self.torch.inference_mode
        enter, leave = cls.__enter__, cls.__exit__

        def entered(switch: Any) -> Any:
            result = enter(switch)
            modes.log.try_(modes.inference_mode, bool(switch.mode), False)
            return result

        def left(switch: Any, *error: Any) -> Any:
            modes.log.try_(modes.inference_mode, bool(switch.mode), True)
            return leave(switch, *error)

        self._patches.set(cls, "__enter__", entered)
        self._patches.set(cls, "__exit__", left)

    def remove(self) -> None:
        """Put the inference mode back as it was."""
        self._patches.restore()

    def grad_mode(self, args: tuple[Any, ...]) -> None:
        """Log a call of ``_set_grad_enabled``, unless it is PyTorch's own business."""
        self._log(bool(args[0]), "set_grad_enabled", False)

    def inference_mode(self, on: bool, leaving: bool) -> None:
        """Log that a block under ``inference_mode`` begins or ends."""
        enabled = not on if not leaving else self.torch.is_grad_enabled()
        self._log(enabled or leaving, "inference_mode", leaving)

    def _log(self, enabled: bool, how: str, leaving: bool) -> None:
        frame, function = sys._getframe(2), None
        user, roles = self.log.user_files, self._roles
        while frame is not None and not user[(code := frame.f_code).co_filename]:
            _, owner, role = roles.get(id(code)) or self._role_of(code)
            if role == "decorator":
                decorated: Any = locals_of(frame).get("func")
                function = getattr(inspect.unwrap(decorated), "__code__", None)
                break  # whoever calls it: the decorated function switches
            if role == "library":
                return  # an optimizer's step and the like
            how, leaving = owner or how, leaving or role == "exit"
            frame = frame.f_back
        if function is not None and not user[function.co_filename]:
            return
        if frame is not None and user[frame.f_code.co_filename]:
            site, stack = (frame.f_code, frame.f_lasti), self.log.around(frame)
        else:
            site, stack = self.log.place()
        self.log.append(
            ModeSwitched(
                index=0,
                site=site,
                stack=stack,
                thread=get_ident(),
                how=how,
                enabled=enabled,
                leaving=leaving,
                function=function,
            )
        )

    def _role_of(self, code: CodeType) -> _Role:
        """Say what code that is not the user's does about grad mode."""
        owner, _, method = code.co_qualname.rpartition(".")
        known, role = owner in _SWITCHES, "other"
        if known:
            role = "exit" if method == "__exit__" else "other"
        elif code.co_qualname == "context_decorator.<locals>.decorate_context":
            role = "decorator"
        elif code.co_filename.startswith(self.log.library):
            role = "library"
        if len(self._roles) > _MOST_ROLES:
            self._roles.clear()
        self._roles[id(code)] = found = code, owner if known else "", role
        return found
