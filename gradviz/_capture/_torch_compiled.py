"""Logs a call of a compiled function as one: the compiler is not to trace the log."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gradviz._capture._loop_base import Patches, unseen
from gradviz._capture._torch_ops import Op

if TYPE_CHECKING:
    from gradviz._capture._torch_log import TorchLog


class TorchCompiled:
    """Wraps what ``torch.compile`` gives while the log is open."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self.torch = torch
        self.log = log
        self._patches = Patches()

    def install(self) -> None:
        """Wrap the compiler; what it compiled before is traced with the log in it."""
        original = self.torch.compile

        @functools.wraps(original)
        def compile_(model: Any = None, **options: Any) -> Any:
            compiled = original(model, **options)
            if model is not None:
                return self._whole(compiled)
            return lambda function: self._whole(compiled(function))

        self._patches.set(self.torch, "compile", compile_)

    def remove(self) -> None:
        """Put the compiler back."""
        self._patches.restore()

    def _whole(self, compiled: Any) -> Any:
        if isinstance(compiled, self.torch.nn.Module):
            name = type(getattr(compiled, "_orig_mod", compiled)).__name__
            compiled.forward = self._wrap(compiled.forward, name)
            return compiled
        return self._wrap(compiled, getattr(compiled, "__name__", "compiled"))

    def _wrap(self, compiled: Any, name: str) -> Any:
        log, calls, op = self.log, self.log.calls, Op(name, "record")

        @unseen
        @functools.wraps(compiled)
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if log.muted or not log.is_home():
                return compiled(*args, **kwargs)
            log.pause()
            try:
                opened = calls.begin(op, (), args, kwargs)
                try:
                    result = compiled(*args, **kwargs)
                except BaseException as error:
                    calls.failed(op, (), args, kwargs, opened, error)
                    raise
                if opened is not None:
                    calls.end(op, (), opened, result)
                return result
            finally:
                log.resume()

        return run
