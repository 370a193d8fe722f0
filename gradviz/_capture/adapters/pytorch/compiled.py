"""Lets what ``torch.compile`` made run eagerly while recorded, or logs it as one call.

PyTorch asks for a callback where each call of a compiled function begins, and switches
its compiler on by it and off where the call ends, also for what was compiled before the
log was opened. The frame that asks knows the call. Without a callback it runs eagerly,
as under ``torch.compiler.set_stance("force_eager")``: that would be one switch for all
threads and regions, also for what PyTorch compiles for its own purposes.
"""

from __future__ import annotations

import inspect
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.limitations import (
    NEEDS_COMPILER,
    RAN_EAGERLY,
    STAYED_COMPILED,
    UNKNOWN_COMPILER,
)
from gradviz._capture.names.tensors import locals_of
from gradviz._capture.training_loop.patches import UNSEEN, Patches, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.regions import Region, Regions

_COMPILER = "torch._dynamo.eval_frame"  # imported late by PyTorch: it is slow
_SWITCH = "_maybe_set_eval_frame"
_CHOICE = "_callback_from_stance"
_COUNT = "set_fullgraph_compiled_frame_count"  # none at the end of a call is an error
_CALL = "compile_wrapper"  # the function that stands for a compiled one

_BACKWARD = "compiled_autograd.py"  # runs compiled what it has traced of a pass

# Functions of PyTorch's that cannot do without: they lift variables, or fuse.
_NEED_COMPILER = "torch._higher_order_ops", "torch.nn.attention.flex_attention"


class TorchCompiled:
    """Watches the compiler being switched on and off while the log is open."""

    def __init__(
        self, torch: Any, log: TorchContext, regions: Regions, *, keep: bool
    ) -> None:
        self.torch = torch
        self.log = log
        self.regions = regions
        self.keep = keep  # nothing runs eagerly that would not without us
        self._patches = Patches()
        self._watching = False
        self._frame: FrameType | None = None  # the outermost compiled call
        self._region: Region | None = None
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
        chosen = getattr(compiler, _CHOICE, None)
        if original is None or chosen is None:
            self.log.note_once(UNKNOWN_COMPILER)
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

        @unseen
        def choose(callback: Any) -> Any:
            if callback and self._runs_eagerly(sys._getframe(1)):
                return None
            return chosen(callback)

        self._patches.set(compiler, _SWITCH, switch)
        if not self.keep:
            self._patches.set(compiler, _CHOICE, choose)

    # ---- one call ------------------------------------------------------------------

    def _runs_eagerly(self, frame: FrameType) -> bool:
        """Tell whether to run a call eagerly, and let PyTorch agree that it may."""
        log = self.log
        if frame.f_code.co_name != _CALL or log.muted or not log.is_home():
            return False
        given = locals_of(frame)
        if _needs_compiler(_inner(given.get("fn"))) or self._asks_for_graph(frame):
            return False
        if getattr(given.get("self"), "fullgraph", False):
            count = getattr(sys.modules[_COMPILER], _COUNT, None)
            if count is not None:
                count(-1)  # do not count
        log.note_once(RAN_EAGERLY)
        return True

    def _asks_for_graph(self, frame: FrameType) -> bool:
        """Tell whether the compiler itself calls: an export, an explanation."""
        modules = UNSEEN, os.path.join(self.log.library, "nn", "modules", "")
        caller = frame.f_back
        while caller is not None and (
            caller.f_code.co_filename.startswith(modules)
            or caller.f_code.co_name == "__call__"  # of a compiled module
        ):
            caller = caller.f_back
        file = "" if caller is None else caller.f_code.co_filename
        if os.path.basename(file) == _BACKWARD:
            return False
        return file.startswith(os.path.join(self.log.library, "_dynamo", ""))

    def _enter(self, frame: FrameType) -> None:
        """Begin the event of a call, unless it is within another one."""
        log = self.log
        ours = frame.f_code.co_name == _CALL and self._frame is None
        if not ours or log.muted or not log.is_home():
            return
        given = locals_of(frame)
        function = given.get("fn")
        why = NEEDS_COMPILER if _needs_compiler(_inner(function)) else STAYED_COMPILED
        self._lift()
        self._frame = frame
        args, kwargs = given.get("args", ()), given.get("kwargs", {})
        caller = sys._getframe(1)
        self._region = self.regions.enter(_name_of(function), why, args, kwargs, caller)

    def _leave(self, frame: FrameType) -> None:
        """End the event of a call that returned or raised."""
        region, self._frame, self._region = self._region, None, None
        result = None if sys.exception() else locals_of(frame).get("result")
        try:
            if region is not None:
                self.regions.leave(region, result)
        finally:
            while self._lifted:
                owner, name, wrapper = self._lifted.pop()
                setattr(owner, name, wrapper)

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


def _needs_compiler(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith(_NEED_COMPILER)


def _inner(function: Any) -> Any:
    """Return what PyTorch wrapped into a function of its own to compile it."""
    if inspect.isfunction(function) and function.__code__.co_freevars == ("fn",):
        return inspect.getclosurevars(function).nonlocals.get("fn", function)
    return function


def _name_of(function: Any) -> str:
    """Return the name of a compiled function, or the class of a compiled module."""
    function = _inner(function)
    module = getattr(function, "__self__", function)
    if hasattr(type(module), "named_parameters"):
        return type(module).__name__
    return getattr(function, "__name__", "compiled")
