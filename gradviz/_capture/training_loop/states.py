"""Saved states that modules were given, and the keys that did not fit."""

from __future__ import annotations

import functools
from collections.abc import Sized
from threading import get_ident
from typing import Any

from gradviz._capture.training_loop.modules import ModulePart
from gradviz._capture.training_loop.patches import Anything, Part, unseen
from gradviz.program.events import StateLoaded

_MOST_KEYS = 1_000  # of each kind that are noted


class StatePart(Part):
    """Logs ``Module.load_state_dict()`` where it raised nothing."""

    subject = "Saved states of modules"
    modules: ModulePart

    def install(self) -> None:
        self.on = True
        base = self.lib.nn.Module
        self.patches.set(base, "load_state_dict", self._wrap(base.load_state_dict))

    def _wrap(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            result = original(module, *args, **kwargs)
            if self.on:
                state = args[0] if args else kwargs.get("state_dict")
                self.try_(self._loaded, module, state, result)
            return result

        return load_state_dict

    def _loaded(self, module: Any, state: Any, result: Any) -> None:
        log, missing, unexpected = self.log, result.missing_keys, result.unexpected_keys
        given = len(state) if isinstance(state, Sized) else 0
        log.append(
            StateLoaded(
                index=0,
                site=log.site(),
                stack=log.stack(),
                thread=get_ident(),
                module=self.modules.row(module).key,
                given=given,
                fitting=given - len(unexpected),
                missing=tuple(missing[:_MOST_KEYS]),
                unexpected=tuple(unexpected[:_MOST_KEYS]),
            )
        )
