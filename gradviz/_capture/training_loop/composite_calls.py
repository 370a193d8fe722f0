"""Calls that stand for many: clipping, gradcheck, checkpoints, loops over loaders."""

from __future__ import annotations

import functools
import importlib
import sys
from functools import partial
from typing import Any

from gradviz._capture.training_loop.patches import Anything, Part, described, unseen
from gradviz.program.events import Call
from gradviz.program.values import Value

_CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")
_MOST = 1_000  # tensors of one call that are described


class CallPart(Part):
    """Logs library functions that run the user's code, or stand for many calls."""

    subject = "Checkpoints, gradient checks and clipping"

    def install(self) -> None:
        self.on = True
        utils = importlib.import_module(f"{self.lib.__package__}.nn.utils")
        for name in filter(partial(hasattr, utils), _CLIPPING):
            self._put((utils, utils.clip_grad), name, self._wrap_clip)
        checks = self.lib.autograd
        module = sys.modules[f"{self.lib.__package__}.autograd.gradcheck"]
        for name in ("gradcheck", "gradgradcheck"):
            owners = [each for each in (checks, module) if _is_function(each, name)]
            self._put(owners, name, self._wrap_gradcheck)
        checkpoint = importlib.import_module(f"{self.lib.__package__}.utils.checkpoint")
        self._put((checkpoint,), "checkpoint", self._wrap_checkpoint)
        data = importlib.import_module(f"{self.lib.__package__}.utils.data")
        self._put((data.DataLoader,), "__iter__", self._wrap_iter)

    def _put(self, owners: Any, name: str, wrap: Anything) -> None:
        wrapped = wrap(getattr(owners[0], name))
        for owner in owners:
            self.patches.set(owner, name, wrapped)

    def _call(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Add the event of a call that is about to run."""
        log, lib = self.log, self.lib
        log.pause()
        try:
            arguments = tuple([described(each, lib, log) for each in args])
            keywords = {k: described(each, lib, log) for k, each in kwargs.items()}
        finally:
            log.resume()
        inputs = _values_in((*arguments, *keywords.values()))
        return self.begun(op, inputs, arguments, keywords)

    def _outputs(self, call: Call, result: Any) -> None:
        log, tensor = self.log, self.lib.Tensor
        results: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)
        log.pause()
        try:
            found = [log.value(each) for each in results if isinstance(each, tensor)]
        finally:
            log.resume()
        call.outputs = tuple(found)
        if isinstance(result, bool):
            call.result = result

    # ---- clipping --------------------------------------------------------------------

    def _wrap_clip(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            here = self.here.now
            if not self.on or here.clipping:
                return original(parameters, *args, **kwargs)
            if hasattr(parameters, "__next__"):
                parameters = list(parameters)  # it can be read once
            op = original.__name__.lstrip("_")
            call = self.try_(self._clips, op, parameters, args, kwargs)
            self.log.pause()
            here.clipping = True  # one of them calls another
            try:
                result = original(parameters, *args, **kwargs)
            finally:
                here.clipping = False
                self.log.resume()
            if call is not None:
                self.try_(self._outputs, call, result)
            return result

        return clip

    def _clips(
        self, op: str, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Call:
        single = isinstance(parameters, self.lib.Tensor)
        given = [parameters] if single else list(parameters)[:_MOST]
        call = self._call(op, args, kwargs)
        self.log.pause()
        try:
            call.inputs = tuple([self.log.value(each) for each in given])
        finally:
            self.log.resume()
        call.arguments = (call.inputs, *call.arguments)
        return call

    # ---- gradient checks -------------------------------------------------------------

    def _wrap_gradcheck(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def check(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            here = self.here.now
            if not self.on or here.checking:
                return original(*args, **kwargs)
            call = self.try_(self._call, original.__name__, args, kwargs)
            if call is None:
                return original(*args, **kwargs)
            here.checking = True
            self.log.pause()
            try:
                if args:
                    args = (self._aloud(args[0]), *args[1:])
                return self._inside(call, original, args, kwargs)
            finally:
                self.log.resume()
                here.checking = False

        return check

    def _aloud(self, function: Any) -> Any:
        """Return a function whose calls are logged although what runs it is not."""
        log = self.log

        @unseen
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            log.resume()
            try:
                return function(*args, **kwargs)
            finally:
                log.pause()

        return run

    @unseen
    def _inside(
        self, call: Call, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        __tracebackhide__ = True
        """Run a function; what it calls is ``within`` the event."""
        return self._told(call, self._within(call.index, original), args, kwargs)

    def _within(self, index: int, function: Any) -> Any:
        """Return a function whose calls are ``within`` an event."""
        here = self.here

        @unseen
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            outer, here.now.within = here.now.within, index
            try:
                return function(*args, **kwargs)
            finally:
                here.now.within = outer

        return run

    @unseen
    def _told(
        self, call: Call, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        __tracebackhide__ = True
        """Run a function; its result, or its error, is the event's."""
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            if "StopRecomputation" not in type(error).__name__:  # all it needs is there
                call.error = f"{type(error).__name__}: {error}"
            raise
        else:
            self.try_(self._outputs, call, result)
            return result

    # ---- checkpoints -----------------------------------------------------------------

    def _wrap_checkpoint(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def checkpoint(function: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on:
                return original(function, *args, **kwargs)
            call = self.try_(self._call, "checkpoint", (function, *args), kwargs)
            if call is None:
                return original(function, *args, **kwargs)
            watched = self._watched(call.index, function)
            return self._told(call, original, (watched, *args), kwargs)

        return checkpoint

    def _watched(self, index: int, function: Any) -> Any:
        """Return the function; its runs after the first are logged as ``recompute``.

        What PyTorch itself calls before the first, in some versions, is not within it.
        """
        first = True
        begin = self._within(index, function)

        @unseen
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            nonlocal first
            again, first = not first, False
            if not again:
                return begin(*args, **kwargs)
            if not self.on:
                return function(*args, **kwargs)
            call = self.try_(self._call, "recompute", (), {})
            if call is None:
                return function(*args, **kwargs)
            call.within = index
            return self._inside(call, function, args, kwargs)

        return run

    # ---- loaders ---------------------------------------------------------------------

    def _wrap_iter(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def iterate(loader: Any) -> Any:
            __tracebackhide__ = True
            if self.on:
                self.try_(self._loops, loader)
            return original(loader)

        return iterate

    def _loops(self, loader: Any) -> None:
        facts: dict[str, Any] = {
            "batch_size": getattr(loader, "batch_size", None),
            "drop_last": getattr(loader, "drop_last", None),
        }
        sampler: Any = getattr(loader, "sampler", None)
        size = facts["batch_size"]
        if sampler is not None and hasattr(sampler, "__len__") and size:
            count = facts["samples"] = len(sampler)
            facts["last_batch"] = size if facts["drop_last"] else count % size or size
        self._call("DataLoader", (), facts)


def _values_in(arguments: Any) -> tuple[Value, ...]:
    found: list[Value] = []
    for each in arguments:
        if isinstance(each, Value):
            found.append(each)
        elif isinstance(each, list | tuple):
            found += _values_in(each)
    return tuple(found)


def _is_function(owner: Any, name: str) -> bool:
    return callable(getattr(owner, name, None))
