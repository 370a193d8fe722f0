"""Switches of grad mode and inference mode, and hooks that are registered."""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any

from gradtape._debug import Tensor, internal_files, mode
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.names.hooks import Owners, code_of, held_by
from gradviz.program.events import HookRegistered, ModeSwitched


class Switches:
    """Logs what the engine announces of modes and hooks."""

    def __init__(self, log: GradtapeContext) -> None:
        self._log = log
        self._owners = Owners()

    def mode_switched(self, switch: Any, leaving: bool, caller: CodeType) -> None:
        """Note a switch, unless it is the engine's own doing."""
        try:
            self._switched(type(switch).__name__, leaving, switch.function, caller)
        except Exception as error:
            self._log.give_up("at a switch of grad mode", error)

    def _switched(self, how: str, leaving: bool, function: Any, at: CodeType) -> None:
        log, code = self._log, getattr(function, "__code__", None)
        if internal_files[(at if code is None else code).co_filename]:
            return
        with log.lock:
            log.add(
                ModeSwitched(
                    index=log.take_index(),
                    site=log.site(),
                    stack=log.stack(),
                    thread=threading.get_ident(),
                    how=how,
                    enabled=mode.now.grad,
                    leaving=leaving,
                    function=code,
                )
            )

    def hook_registered(self, kind: str, on: Any, hook: Any, handle: Any) -> None:
        """Note that a hook was put on a tensor or a node."""
        try:
            self._registered(kind, on, hook, handle)
        except Exception as error:
            self._log.give_up("at a hook", error)

    def _registered(self, kind: str, on: Any, hook: Any, handle: Any) -> None:
        log = self._log
        with log.lock:
            event = HookRegistered(
                index=log.take_index(),
                site=log.site(),
                stack=log.stack(),
                thread=threading.get_ident(),
                kind=kind,
                hook=handle.id,
                code=code_of(hook),
                owner=self._owners.number(hook),
            )
            if isinstance(on, Tensor):
                event.value = log.value(on)
                event.target = event.value.node
            else:
                log.reader.read(on)
                event.target = log.reader.key(on)
            event.holds = tuple([log.value(each) for each in held_by(hook, Tensor)])
            log.passes.hooks[handle.id] = event
            log.add(event)

    def hook_removed(self, handle: Any) -> None:
        """Note that a hook was taken off."""
        event = self._log.passes.hooks.get(handle.id)
        if event is not None:
            event.removed = True
