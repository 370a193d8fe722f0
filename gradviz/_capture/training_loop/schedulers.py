"""Schedulers of learning rates and scalers of gradients: what they did, and when."""

from __future__ import annotations

import functools
import importlib
import weakref
from math import nan
from typing import TYPE_CHECKING, Any, Literal

from gradviz._capture.training_loop.patches import Anything, Part, unseen
from gradviz.program.events import Event, ScalerCall, ScheduleCall
from gradviz.program.values import Value

if TYPE_CHECKING:
    from gradviz._capture.training_loop.optimizers import OptimizerPart


_WHAT: dict[str, Literal["init", "step"]] = {"__init__": "init", "step": "step"}


class SchedulePart(Part):
    """Logs init and step of schedulers; scale, unscale_ and step of scalers."""

    subject = "Schedulers and gradient scalers"
    optimizers: OptimizerPart

    def install(self) -> None:
        self.on = True
        self._keys: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        name = f"{self.lib.__package__}.optim.lr_scheduler"
        waiting: list[Any] = [importlib.import_module(name).LRScheduler]
        while waiting:
            cls = waiting.pop()
            waiting += cls.__subclasses__()
            for method, what in _WHAT.items():
                if method in vars(cls):
                    wrapped = self._wrap(vars(cls)[method], what)
                    self.patches.set(cls, method, wrapped)
        scaler = importlib.import_module(f"{self.lib.__package__}.amp").GradScaler
        for method, note in (
            ("scale", self._scaled),
            ("unscale_", self._unscaled),
            ("step", self._stepped),
        ):
            self.patches.set(scaler, method, self._wrap_scaler(scaler, method, note))

    # ---- schedulers -----------------------------------------------------------------

    def _wrap(self, original: Anything, what: Literal["init", "step"]) -> Anything:
        @unseen
        @functools.wraps(original)
        def wrapper(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            here = self.here.now
            if not self.on or here.scheduling:  # one steps others, and as it is made
                return original(scheduler, *args, **kwargs)
            here.scheduling = True
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                here.scheduling = False
            self.try_(self._noted, scheduler, what)
            return result

        return wrapper

    def _noted(self, scheduler: Any, what: Literal["init", "step"]) -> None:
        optimizer = scheduler.optimizer
        self.log.pause()  # a rate may be a tensor
        try:
            rates = tuple([self._rate(each) for each in optimizer.param_groups])
        finally:
            self.log.resume()
        self._add(
            ScheduleCall(
                index=0,
                what=what,
                scheduler=self._keys.setdefault(scheduler, len(self._keys) + 1),
                kind=type(scheduler).__name__,
                optimizer=self.optimizers.key(optimizer),
                rates=rates,
            )
        )

    def _rate(self, group: dict[str, Any]) -> float:
        """Return a rate, or NaN where reading it would wait for a GPU."""
        rate = group["lr"]
        far = isinstance(rate, self.lib.Tensor) and rate.device.type != "cpu"
        return nan if far else float(rate)

    def _add(self, event: Event) -> None:
        event.site, event.stack = self.log.site(), self.log.stack()
        event.thread = self.here.now.thread
        self.log.append(event)

    # ---- scalers --------------------------------------------------------------------

    def _wrap_scaler(self, cls: Any, method: str, note: Anything) -> Anything:
        original = vars(cls)[method]

        @unseen
        @functools.wraps(original)
        def wrapper(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on or not scaler.is_enabled():
                return original(scaler, *args, **kwargs)
            if method != "scale":
                self.try_(note, scaler, *args[:1])
                return original(scaler, *args, **kwargs)
            result = original(scaler, *args, **kwargs)
            self.try_(note, scaler, result)
            return result

        return wrapper

    def _scaled(self, scaler: Any, result: Any) -> None:
        given: Any = result if isinstance(result, list | tuple) else (result,)
        found: list[Value] = []
        self.log.pause()
        try:
            tensors = [each for each in given if isinstance(each, self.lib.Tensor)]
            found += map(self.log.value, tensors)
            near = all(each.device == "cpu" for each in found)
            scale = float(scaler.get_scale()) if near else None
        finally:
            self.log.resume()
        self._add(ScalerCall(index=0, what="scale", scale=scale, scaled=tuple(found)))

    def _unscaled(self, scaler: Any, optimizer: Any = None) -> None:
        self._of_optimizer("unscale", scaler, optimizer)

    def _stepped(self, scaler: Any, optimizer: Any = None) -> None:
        self._of_optimizer("step", scaler, optimizer)

    def _of_optimizer(
        self, what: Literal["unscale", "step"], scaler: Any, optimizer: Any
    ) -> None:
        if optimizer is None:  # given by its name
            return
        key = self.optimizers.key(optimizer)
        self._add(ScalerCall(index=0, what=what, optimizer=key))
