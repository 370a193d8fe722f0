"""Optimizers: what they were given, when they stepped, what they found and wrote."""

from __future__ import annotations

import functools
import weakref
from threading import get_ident
from typing import Any

from gradviz._capture._loop_base import Anything, Part, unseen
from gradviz.program.events import Call, OptimizerCall
from gradviz.program.records import Optimizer
from gradviz.program.values import ParameterState, RawSite, Value, Write

_MOST = 10_000  # parameters of one optimizer that are looked at one by one


class _Seen:
    """What is kept of one optimizer between its calls, without keeping it alive."""

    def __init__(self, row: Optimizer) -> None:
        self.row = row
        self.bits: list[int] = []
        self.states: tuple[ParameterState, ...] = ()
        self.values: dict[int, tuple[int, Value]] = {}  # key -> (address, value)


class OptimizerPart(Part):
    """Logs init, step and zero_grad of every optimizer, and Module.zero_grad()."""

    subject = "Optimizers"

    def install(self) -> None:
        self.on = True
        self.step_site: RawSite | None = None
        self._seen: weakref.WeakKeyDictionary[Any, _Seen] = weakref.WeakKeyDictionary()
        self._count = 0
        base, module = self.lib.optim.Optimizer, self.lib.nn.Module
        self.patches.set(base, "__init__", self._wrap_init(base.__init__))
        for owner, clear in ((base, self._clear), (module, self._clear_module)):
            wrapped = self._wrap_zero_grad(owner.zero_grad, clear)
            self.patches.set(owner, "zero_grad", wrapped)
        waiting = [base]
        while waiting:
            cls = waiting.pop()
            waiting += cls.__subclasses__()
            if getattr(vars(cls).get("step"), "hooked", False):
                self._wrap_step_of(cls)

    def call(self, optimizer: Any, name: str) -> None:
        """Note the name that the program has for an optimizer."""
        seen = self._seen.get(optimizer)
        if seen is not None and seen.row.name is None:
            seen.row.name = name

    # ---- init ------------------------------------------------------------------------

    def _wrap_init(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def init(optimizer: Any, params: Any, *args: Any, **kwargs: Any) -> None:
            if not self.on:
                original(optimizer, params, *args, **kwargs)
                return
            if hasattr(params, "__next__"):
                params = list(params)  # as the original does: it can be read once
            try:
                original(optimizer, params, *args, **kwargs)
            except Exception as error:
                self.try_(self._refused, optimizer, params, error)
                raise
            self.try_(self._made, optimizer)

        return init

    def _refused(self, optimizer: Any, params: Any, error: Exception) -> None:
        given = params if isinstance(params, list | tuple) else []
        tensors: list[Any] = []
        for each in given[:_MOST]:
            inside: Any = each.get("params") if isinstance(each, dict) else [each]
            tensors += inside if isinstance(inside, list | tuple) else [inside]
        tensors = [each for each in tensors if isinstance(each, self.lib.Tensor)]
        log = self.log
        with log.lock:
            log.add(
                Call(
                    index=log.take_index(),
                    site=log.site(),
                    stack=log.stack(),
                    thread=get_ident(),
                    op=type(optimizer).__name__,
                    inputs=self._values_of(tensors),
                    error=f"{type(error).__name__}: {error}",
                )
            )

    def _values_of(self, tensors: list[Any]) -> tuple[Value, ...]:
        log = self.log
        log.pause()
        try:
            return tuple([log.value(tensor) for tensor in tensors])
        finally:
            log.resume()

    def _made(self, optimizer: Any) -> None:
        cls = type(optimizer)
        step = vars(cls).get("step")
        if step is not None and not hasattr(step, "gradviz"):
            self._wrap_step_of(cls)
        seen = self._of(optimizer)
        log = self.log
        with log.lock:
            event = self._event("init", seen, self._states(optimizer, seen))
            seen.row.made = event.index

    def _of(self, optimizer: Any) -> _Seen:
        """Return what is known of an optimizer; open its row on first sight."""
        seen = self._seen.get(optimizer)
        if seen is None:
            self._count += 1
            row = Optimizer(
                key=self._count,
                kind=type(optimizer).__name__,
                site=self.log.site(),
                tensors=(),
                made=self.log.next_index,
            )
            self.log.program.optimizers[row.key] = row
            seen = self._seen[optimizer] = _Seen(row)
        return seen

    def _event(
        self, what: Any, seen: _Seen | None, states: tuple[ParameterState, ...]
    ) -> OptimizerCall:
        log = self.log
        event = OptimizerCall(
            index=log.take_index(),
            site=log.site(),
            stack=log.stack(),
            thread=get_ident(),
            what=what,
            optimizer=0 if seen is None else seen.row.key,
            states=states,
        )
        log.add(event)
        return event

    # ---- parameters ------------------------------------------------------------------

    def _states(self, optimizer: Any, seen: _Seen) -> tuple[ParameterState, ...]:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        log = self.log
        log.pause()
        try:
            tensor = log.tensor
            keys = tuple([tensor(param) for param in params[:_MOST]])
            if keys != seen.row.tensors:
                seen.row.tensors = keys
                seen.bits = []
            if self.scan:
                return self._scanned(params[:_MOST], keys)
            bits = [(p.grad is not None) + 2 * p.requires_grad for p in params[:_MOST]]
        finally:
            log.resume()
        if bits != seen.bits:
            seen.bits = bits
            seen.states = tuple(
                [
                    ParameterState(key, bool(bit & 1), bit > 1)
                    for key, bit in zip(keys, bits, strict=True)
                ]
            )
        return seen.states

    def _scanned(
        self, params: list[Any], keys: tuple[int, ...]
    ) -> tuple[ParameterState, ...]:
        found: list[ParameterState] = []
        with self.lib.no_grad():
            for param, key in zip(params, keys, strict=True):
                gradient, zero, bad = param.grad, None, 0
                if gradient is not None and gradient.layout is self.lib.strided:
                    values = gradient.detach()
                    bad = int((~self.lib.isfinite(values)).sum())
                    zero = not bool(values.any())
                has, needs = gradient is not None, param.requires_grad
                found.append(ParameterState(key, has, needs, zero, bad))
        return tuple(found)

    # ---- step ------------------------------------------------------------------------

    def _wrap_step_of(self, cls: Any) -> None:
        original: Anything = vars(cls)["step"]
        theirs = not self.log.user_files[_code(original).co_filename]

        @unseen
        @functools.wraps(original)
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.on or self.here.stepping is not None:
                return original(optimizer, *args, **kwargs)
            alone = theirs and not args and not kwargs  # no closure runs in between
            before = self.try_(self._begin_step, optimizer, theirs)
            if alone:
                self.log.pause()
            try:
                return original(optimizer, *args, **kwargs)
            finally:
                if alone:
                    self.log.resume()
                if before is not None:
                    self.try_(self._end_step, optimizer, before)
                self.here.stepping = None

        step.gradviz = True  # type: ignore[attr-defined]
        self.patches.set(cls, "step", step)

    def _begin_step(self, optimizer: Any, theirs: bool) -> list[int] | None:
        seen = self._of(optimizer)
        log = self.log
        states = self._states(optimizer, seen)
        with log.lock:
            event = self._event("step", seen, states)
        self.here.stepping = event.index
        self.step_site = event.site
        return self._versions(optimizer) if theirs else None

    def _versions(self, optimizer: Any) -> list[int]:
        log = self.log
        log.pause()
        try:
            groups = optimizer.param_groups
            return [param._version for group in groups for param in group["params"]]
        finally:
            log.resume()

    def _end_step(self, optimizer: Any, before: list[int]) -> None:
        """Log the writes of a library's step as one call, at the user's line."""
        log = self.log
        seen = self._of(optimizer)
        groups = optimizer.param_groups
        params = [param for group in groups for param in group["params"]]
        writes: list[Write] = []
        log.pause()
        try:
            for param, version, key in zip(
                params, before, seen.row.tensors, strict=False
            ):
                now = param._version
                if now == version:
                    continue
                address = param.data_ptr()
                known = seen.values.get(key)
                if known is None or known[0] != address:
                    known = seen.values[key] = address, log.value(param)
                value = known[1]
                writes.append(Write(value.storage, version, now, value))
        finally:
            log.resume()
        with log.lock:
            log.add(
                Call(
                    index=log.take_index(),
                    site=self.step_site,
                    thread=get_ident(),
                    op="step",
                    inputs=tuple([write.value for write in writes]),
                    writes=tuple(writes),
                    grad_enabled=False,
                )
            )

    # ---- zero_grad -------------------------------------------------------------------

    def _wrap_zero_grad(self, original: Anything, clear: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.on:
                return original(owner, *args, **kwargs)
            self.try_(clear, owner)
            self.log.pause()
            try:
                return original(owner, *args, **kwargs)
            finally:
                self.log.resume()

        return zero_grad

    def _clear(self, optimizer: Any) -> None:
        seen = self._of(optimizer)
        states = self._states(optimizer, seen)
        with self.log.lock:
            self._event("zero_grad", seen, states)

    def _clear_module(self, module: Any) -> None:
        log = self.log
        log.pause()
        try:
            states = tuple(
                [
                    ParameterState(
                        log.tensor(param), param.grad is not None, param.requires_grad
                    )
                    for param in module.parameters()
                ]
            )
        finally:
            log.resume()
        with log.lock:
            self._event("zero_grad", None, states)


def _code(function: Any) -> Any:
    """Return the code of the innermost function under decorators."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__
