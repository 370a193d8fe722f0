"""Hooks on modules: who put them there."""

from __future__ import annotations

import functools
import inspect
from threading import get_ident
from typing import Any

from gradviz._capture.training_loop.modules import ModulePart
from gradviz._capture.training_loop.patches import Anything, Part, unseen
from gradviz.program.events import HookRegistered

_KINDS = {
    "register_forward_pre_hook": "module_forward_pre",
    "register_forward_hook": "module_forward",
    "register_full_backward_pre_hook": "module_full_backward_pre",
    "register_full_backward_hook": "module_full_backward",
    "register_backward_hook": "module_backward",
}


class HookPart(Part):
    """Logs the registration of hooks on modules; ``hook`` counts down from -1."""

    subject = "Hooks of modules"
    modules: ModulePart

    def install(self) -> None:
        self.on = True
        self._count = 0
        base = self.lib.nn.Module
        for name, kind in _KINDS.items():
            self.patches.set(base, name, self._wrap(getattr(base, name), kind))

    def _wrap(self, original: Anything, kind: str) -> Anything:
        @unseen
        @functools.wraps(original)
        def register(module: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            handle = original(module, hook, *args, **kwargs)
            if self.on:
                self.try_(self._registered, module, hook, kind)
            return handle

        return register

    def _registered(self, module: Any, hook: Any, kind: str) -> None:
        log = self.log
        self._count += 1
        log.append(
            HookRegistered(
                index=0,
                site=log.site(),
                stack=log.stack(),
                thread=get_ident(),
                kind=kind,
                hook=-self._count,
                code=getattr(inspect.unwrap(hook), "__code__", None),
                target=self.modules.row(module).key,
            )
        )
