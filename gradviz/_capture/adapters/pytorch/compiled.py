"""Logs a call of a compiled function as one: the compiler is not to trace the log.

PyTorch switches its compiler on where such a call begins and off where it ends, also
for what was compiled before the log was opened. The frame that switches knows the call.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.op_names import Op
from gradviz._capture.names.tensors import locals_of
from gradviz._capture.training_loop.patches import UNSEEN, Patches, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.adapters.pytorch.context import TorchContext

_COMPILER = "torch._dynamo.eval_frame"  # imported late by PyTorch: it is slow
_SWITCH = "_maybe_set_eval_frame"
_CALL = "compile_wrapper"  # the function that stands for a compiled one

UNSEEN_REGIONS = (
    "This version of PyTorch calls compiled functions in a way that the recording does "
    "not know: leave torch.compile out to record what is inside."
)


class TorchCompiled:
    """Watches the compiler being switched on and off while the log is open."""

    def __init__(self, torch: Any, log: TorchContext, calls: TorchCalls) -> None:
        self.torch = torch
        self.log = log
        self.calls = calls
        self._patches = Patches()
        self._watching = False
        self._frame: FrameType | None = None  # the outermost compiled call
        self._opened: Any = None
        self._op = Op("compiled", "record")
        self._lifted: list[tuple[Any, str, Any]] = []  # wrappers, out of the way

    def install(self) -> None:
        """Watch the compiler, from its import on."""
        if _COMPILER in sys.modules:
            self._watch()
            return
        original = self.torch.compile

        def compile_(*args: Any, **options: Any) -> Any:
            compiled = original(*args, **options)
            self._watch()
            return compiled

        self._patches.set(self.torch, "compile", compile_)

    def remove(self) -> None:
        """Put the compiler back."""
        self._patches.restore()
        self._watching = False

    def _watch(self) -> None:
        if self._watching or not self.log.on:
            return
        self._watching = True
        compiler = sys.modules.get(_COMPILER)
        original = getattr(compiler, _SWITCH, None)
        if original is None:
            self.log.program.notes.append(UNSEEN_REGIONS)
            return

        @unseen
        def switch(callback: Any) -> Any:
            if callback is not None:
                self._enter(sys._getframe(1))
                return original(callback)
            before = original(callback)
            if self._frame is not None and self._frame is sys._getframe(1):
                self._leave(self._frame)
            return before

        self._patches.set(compiler, _SWITCH, switch)

    # ---- one call ------------------------------------------------------------------

    def _enter(self, frame: FrameType) -> None:
        """Begin the event of a call, unless it is within another one."""
        log = self.log
        ours = frame.f_code.co_name == _CALL and self._frame is None
        if not ours or log.muted or not log.is_home():
            return
        given = locals_of(frame)
        self._op = Op(_name_of(given.get("fn")), "record")
        log.pause()
        self._lift()
        self._frame = frame
        args, kwargs = given.get("args", ()), given.get("kwargs", {})
        with log.unasked():
            self._opened = self.calls.begin(self._op, args, kwargs, sys._getframe(1))

    def _leave(self, frame: FrameType) -> None:
        """End the event of a call that returned or raised."""
        opened, op = self._opened, self._op
        self._frame = self._opened = None
        error = sys.exception()
        try:
            with self.log.unasked():
                if error is not None:
                    self.calls.failed(op, (), {}, frame, opened, error)
                elif opened is not None:
                    self.calls.end(op, opened, locals_of(frame).get("result"))
        finally:
            while self._lifted:
                owner, name, wrapper = self._lifted.pop()
                setattr(owner, name, wrapper)
            self.log.resume()

    def _lift(self) -> None:
        """Take off the wrappers that the compiler would trace or break its graph at."""
        function = self.torch.autograd.function.Function
        for owner, name in ((self.torch.nn.Module, "__call__"), (function, "apply")):
            wrapper = vars(owner)[name]
            inner = getattr(wrapper, "__func__", wrapper)
            original = getattr(inner, "__wrapped__", None)
            if original is not None and inner.__code__.co_filename == UNSEEN:
                self._lifted.append((owner, name, wrapper))
                again = isinstance(wrapper, classmethod)
                setattr(owner, name, classmethod(original) if again else original)


def _name_of(function: Any) -> str:
    """Return the name of a compiled function, or the class of a compiled module."""
    if inspect.isfunction(function) and function.__module__.startswith("torch."):
        function = inspect.getclosurevars(function).nonlocals.get("fn", function)
    module = getattr(function, "__self__", function)
    if hasattr(type(module), "named_parameters"):
        return type(module).__name__
    return getattr(function, "__name__", "compiled")
