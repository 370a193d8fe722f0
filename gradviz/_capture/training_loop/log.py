"""The part of the program log that is the same for every engine: the training loop."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from gradviz._capture.context import LogContext
from gradviz._capture.training_loop.composite_calls import CallPart
from gradviz._capture.training_loop.custom_functions import FunctionPart
from gradviz._capture.training_loop.modules import HookPart, ModulePart
from gradviz._capture.training_loop.names import NamePart
from gradviz._capture.training_loop.optimizers import OptimizerPart
from gradviz._capture.training_loop.patches import Here, Part
from gradviz._capture.training_loop.retained_graphs import CensusPart
from gradviz._capture.training_loop.schedulers import SchedulePart
from gradviz._capture.training_loop.states import StatePart
from gradviz.program.values import RawSite


class LoopLog:
    """Logs what PyTorch's public Python API shows, which gradtape mirrors.

    ``lib`` is ``torch`` or ``gradtape``; ``log`` is where events go. An engine's log
    owns one of these, enters it after its own hooks are in place and leaves it before
    they go, inside its own ``__enter__`` and ``__exit__`` (hand the three arguments on:
    names are looked up in the frames of the error). It provides

    - OptimizerCall and the table of optimizers; one Call ``step`` with the writes of a
      library's step; Call of the optimizer's name with ``error`` where it was refused;
    - ScheduleCall and ScalerCall, of schedulers and scalers that are enabled;
    - ModuleCall, TrainingSwitched, StateLoaded, the table of modules, ``TensorFacts``
      of parameters;
    - HookRegistered ``module_*``, with numbers below zero;
    - a Call of the class's name for every ``Function.apply`` of the user's, added as it
      begins; ``Node.custom``; with ``scanned``, a check of each class's derivative;
    - Calls ``clip_grad_norm_``/``clip_grad_value_`` (inputs: the parameters),
      ``gradcheck``/``gradgradcheck``, ``checkpoint`` with ``recompute`` within it, and
      ``DataLoader`` (keywords: batch_size, drop_last, samples, last_batch) per loop;
    - ``program.live``: tensors that still hold a graph which no pass has walked;
    - names of tensors, modules and optimizers.

    The engine's log in turn

    - calls :meth:`before_backward` when it has added a Backward, before the pass runs,
      and :meth:`after_backward` when the pass is over or has raised;
    - logs no tensor call while ``log.muted``: a library's step, zero_grad, and what is
      computed here run so. Torch may leave the stack of modes in ``pause``/``resume``;
    - logs no call of its own for such a Function; ``here.now.applying`` is its class;
    - leaves out calls while ``here.now.stepping is not None`` whose site is
      ``step_site``: a step that was given a closure runs unmuted;
    - fills ``Call.module`` from ``here.now.module`` and ``Call.within`` from
      ``here.now.within``; ``here`` is thread-local.

    Nothing here keeps a tensor alive, changes a result or raises into the program.
    """

    def __init__(self, lib: Any, log: LogContext) -> None:
        self.here = here = Here()
        self.optimizers = OptimizerPart(lib, log, here)
        self.schedules = SchedulePart(lib, log, here)
        self.schedules.optimizers = self.optimizers
        self.modules = ModulePart(lib, log, here)
        self.hooks = HookPart(lib, log, here)
        self.hooks.modules = self.modules
        self.states = StatePart(lib, log, here)
        self.states.modules = self.modules
        self.functions = FunctionPart(lib, log, here)
        self.names = NamePart(lib, log, here)
        self.names.modules = self.modules
        self.names.optimizers = self.optimizers
        self.calls = CallPart(lib, log, here)
        self.census = CensusPart(lib, log, here)
        self.census.names = self.names
        self._parts: list[Part] = [
            self.optimizers,
            self.schedules,
            self.modules,
            self.hooks,
            self.states,
            self.functions,
            self.calls,
            self.names,
            self.census,
        ]

    @property
    def step_site(self) -> RawSite | None:
        """The user's line that called the optimizer step that is running."""
        return self.optimizers.step_site

    def __enter__(self) -> Self:
        try:
            for part in self._parts:
                try:
                    part.install()
                except Exception as error:
                    part.failed(error)
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.functions.try_(self.functions.check_waiting)
            self.functions.try_(self.functions.attach)
            self.refresh(trace)
            self.census.try_(self.census.take)
        finally:
            self.remove()

    def remove(self) -> None:
        """Take everything off, without a last look at the program."""
        for part in reversed(self._parts):
            try:
                part.remove()
            except Exception as problem:
                part.failed(problem)

    def refresh(self, trace: TracebackType | None = None) -> None:
        """Bring tables and names up to date; with the frames of an error, if any."""
        self.modules.refresh()
        self.names.try_(self.names.refresh, trace)

    # ---- called by the engine's log --------------------------------------------------

    def before_backward(self, nodes: Iterable[int]) -> None:
        """Do what is to be done when a pass begins: look up names, now and then.

        ``nodes`` are those that it reaches; none stands for any.
        """
        if self.names.due():
            self.refresh()
        if self.functions.known:
            self.functions.try_(self.functions.before_backward, nodes)

    def after_backward(self) -> None:
        """Do what is to be done when a pass is over: check derivatives, look around."""
        self.census.try_(self.census.passed)
        if self.functions.known:
            self.functions.try_(self.functions.check_waiting)
