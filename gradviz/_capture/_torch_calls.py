"""Logs the calls of PyTorch's functions: a mode that every call passes through."""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

from gradviz._capture._torch_ops import Op, describe_function
from gradviz._capture._torch_values import version_of
from gradviz.program.events import Call
from gradviz.program.values import Value, Write

if TYPE_CHECKING:
    from gradviz._capture._torch_log import TorchLog

Met = list[tuple[Any, Value]]

_RESULTS = (bool, int, float, complex, str)


class TorchCalls:
    """Turns calls of PyTorch's functions into events."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self.torch = torch
        self.log = log
        self.values = log.values
        self._ops: dict[Any, Op] = {}
        self._tensor = torch.Tensor
        self._peek = torch._C._autograd._get_sequence_nr
        self._grad_enabled = torch.is_grad_enabled
        self._inference = torch.is_inference_mode_enabled
        self.mode = _make_mode(torch, self.meet)

    # ---- one call -----------------------------------------------------------------

    def meet(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one call, logged as its table row says."""
        op = self._ops.get(func) or self._learn(func)
        how = op.how
        if how == "record" or (how == "users" and self._asked_by_user()):
            return self._record(op, func, args, kwargs)
        if how == "grad_mode":
            self.log.try_(self.log.modes.grad_mode, args)
        elif how == "backward":
            # The passes are logged where they begin; their hooks are to be seen.
            with self.mode, self.torch._C.DisableTorchFunction():
                return func(*args, **kwargs)
        elif how == "hook":
            return self.log.hooks.register(func, args, kwargs)
        try:
            return func(*args, **kwargs)
        except Exception as error:
            if how != "grad_mode":
                self.log.try_(self._refused, op, args, kwargs, error)
            raise

    def _learn(self, func: Any) -> Op:
        op = describe_function(func)
        if func is self.torch.Tensor.backward or op.name in ("backward", "grad"):
            op = Op(op.name, "backward")
        self._ops[func] = op
        return op

    def _asked_by_user(self) -> bool:
        frame = sys._getframe(3)  # below: _asked_by_user, meet, __torch_function__
        return self.log.user_files[frame.f_code.co_filename]

    def _refused(
        self,
        op: Op,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        error: BaseException,
    ) -> None:
        self._failed(self._begin(op, args, kwargs, []), error)

    def _record(
        self, op: Op, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        log, here = self.log, self.log.here
        if log.muted or not log.on:
            return func(*args, **kwargs)
        if here.stepping is not None and log.site() == log.loop.step_site:
            return func(*args, **kwargs)  # the step is logged as a whole
        met: Met = []
        try:
            call = self._begin(op, args, kwargs, met)
        except Exception as error:
            log.stop(error)
            return func(*args, **kwargs)
        first = self._peek()
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            log.try_(self._failed, call, error)
            raise
        try:
            self._end(call, op, met, result, first)
        except Exception as error:
            log.stop(error)
        return result

    def _begin(
        self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], met: Met
    ) -> Call:
        here, values = self.log.here, self.values
        site, stack = self.log.place()
        arguments: list[Any] = []
        for each in args:
            if isinstance(each, self._tensor):
                value = values.of(each)
                met.append((each, value))
                arguments.append(value)
            else:
                arguments.append(values.argument(each, met))
        keywords: dict[str, Any] = {}
        for key in kwargs:
            keywords[key] = values.argument(kwargs[key], met)
        return Call(
            index=-1,
            site=site,
            stack=stack,
            thread=get_ident(),
            op=op.name,
            arguments=tuple(arguments),
            keywords=keywords,
            inputs=tuple([value for _, value in met]),
            grad_enabled=self._grad_enabled(),
            inference=self._inference(),
            module=here.module,
            within=here.within,
        )

    def _end(self, call: Call, op: Op, met: Met, result: Any, first: int) -> None:
        log = self.log
        for tensor, before in met:
            if version_of(tensor) != before.version:
                self._notice_writes(call, op, met)
                break
        if op.touches_flags and met:
            self.values.forget(met[0][0])
        outputs: tuple[Any, ...] | list[Any] = ()
        if op.sets:
            outputs = [met[0][0]]
        elif isinstance(result, self._tensor):
            outputs = (result,)
        elif isinstance(result, tuple | list):
            outputs = list(_tensors_in(result, self._tensor))
        elif isinstance(result, _RESULTS):
            call.result = result
        scan = not op.uninitialized
        call.outputs = tuple([self.values.result(each, scan) for each in outputs])
        last = self._peek()
        if last > first:
            call.nodes = (
                (last,) if last == first + 1 else tuple(range(first + 1, last + 1))
            )
            log.graph.made_by(call)
        with log.lock:
            call.index = log.take_index()
            log.add(call)
        if op.exports:
            log.exports.add(met, outputs)
        if log.exports.watched:
            log.exports.look(call, met, outputs)

    def _failed(self, call: Call, error: BaseException) -> None:
        call.error = f"{type(error).__name__}: {error}"
        with self.log.lock:
            call.index = self.log.take_index()
            self.log.add(call)

    # ---- writes -------------------------------------------------------------------

    def _notice_writes(self, call: Call, op: Op, met: Met) -> None:
        writes: dict[int, Write] = {}
        for tensor, before in met:
            now = version_of(tensor)
            if now != before.version and before.storage not in writes:
                target = self._written_part(op, tensor, call) or self.values.of(tensor)
                writes[before.storage] = Write(
                    before.storage, before.version, now, target
                )
        call.writes = tuple(writes.values())

    def _written_part(self, op: Op, tensor: Any, call: Call) -> Value | None:
        """Return which elements ``tensor[key] = value`` wrote, for a basic key."""
        if op.name != "__setitem__" or len(call.arguments) < 2:
            return None
        key = call.arguments[1]
        for each in key if isinstance(key, tuple) else (key,):
            if not isinstance(each, int | slice | type(None) | type(Ellipsis)):
                return None
            if isinstance(each, bool):
                return None
        with self.torch._C.DisableTorchFunction(), self.torch.no_grad():
            part = tensor.detach()[key]
            return self.values.part(part, self.values.of(tensor))


def _tensors_in(results: Any, cls: type) -> Any:
    for each in results:
        if isinstance(each, cls):
            yield each
        elif isinstance(each, tuple | list):
            yield from _tensors_in(each, cls)


def _make_mode(torch: Any, meet: Any) -> Any:
    from torch.overrides import TorchFunctionMode

    class ProgramMode(TorchFunctionMode):
        """Hands every call of a function of PyTorch to the log."""

        def __torch_function__(
            self,
            func: Any,
            types: Any,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            return meet(func, args, kwargs or {})

    return ProgramMode()
