"""Switches of grad mode and inference mode, and hooks that are registered."""

from __future__ import annotations

import functools
import sys
import threading
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradtape._debug import (
    Node,
    RemovableHandle,
    Tensor,
    TensorHooks,
    internal_files,
    mode,
)
from gradtape._debug import grad_mode as _mode
from gradviz._capture.adapters.gradtape.calls import here
from gradviz._capture.names.hooks import code_of, held_by
from gradviz.program.events import HookRegistered, ModeSwitched

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.log import GradtapeLog


def listen_to_modes(log: GradtapeLog) -> None:
    """Log mode switches and hooks until the log is closed."""
    for owner, name, leaving in (
        (_mode._GradMode, "__enter__", False),
        (_mode._GradMode, "__exit__", True),
        (_mode.set_grad_enabled, "__init__", False),
        (_mode.set_grad_enabled, "__enter__", False),
        (_mode.set_grad_enabled, "__exit__", True),
        (_mode.inference_mode, "__enter__", False),
        (_mode.inference_mode, "__exit__", True),
    ):
        log.stand(owner, name, _switching(log, vars(owner)[name], leaving))
    log.stand(TensorHooks, "register_hook", _registering(log, "tensor"))
    log.stand(
        TensorHooks,
        "register_post_accumulate_grad_hook",
        _registering(log, "post_accumulate"),
    )
    log.stand(Node, "register_hook", _registering(log, "node"))
    log.stand(Node, "register_prehook", _registering(log, "node_pre"))
    log.stand(RemovableHandle, "remove", _removing(log))


def _switching(log: GradtapeLog, original: Any, leaving: bool) -> Any:
    again = original.__qualname__ == "set_grad_enabled.__enter__"

    @functools.wraps(original)
    def switch(self: Any, *args: Any) -> Any:
        __tracebackhide__ = True
        if here.now.busy:
            return original(self, *args)
        before = mode.now.grad
        result = original(self, *args)
        if not (again and mode.now.grad == before):
            caller = sys._getframe(1).f_code
            try:
                _switched(log, type(self).__name__, leaving, self.function, caller)
            except Exception as error:
                log.give_up("at a switch of grad mode", error)
        return result

    return switch


def _switched(
    log: GradtapeLog, how: str, leaving: bool, function: Any, caller: CodeType
) -> None:
    code = getattr(function, "__code__", None)
    if internal_files[(caller if code is None else code).co_filename]:
        return  # the engine's own doing
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


# ---- hooks ------------------------------------------------------------------------


def _registering(log: GradtapeLog, kind: str) -> Any:
    owner = TensorHooks if kind in ("tensor", "post_accumulate") else Node
    name = {
        "tensor": "register_hook",
        "node": "register_hook",
        "node_pre": "register_prehook",
        "post_accumulate": "register_post_accumulate_grad_hook",
    }[kind]
    original = vars(owner)[name]

    @functools.wraps(original)
    def register(self: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        handle = original(self, hook, *args, **kwargs)
        if not here.now.busy:
            try:
                _registered(log, kind, self, hook, handle)
            except Exception as error:
                log.give_up("at a hook", error)
        return handle

    return register


def _registered(log: GradtapeLog, kind: str, on: Any, hook: Any, handle: Any) -> None:
    with log.lock:
        event = HookRegistered(
            index=log.take_index(),
            site=log.site(),
            stack=log.stack(),
            thread=threading.get_ident(),
            kind=kind,
            hook=handle.id,
            code=code_of(hook),
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


def _removing(log: GradtapeLog) -> Any:
    original = RemovableHandle.remove

    @functools.wraps(original)
    def remove(self: RemovableHandle) -> None:
        original(self)
        event = log.passes.hooks.get(self.id)
        if event is not None:
            event.removed = True

    return remove
