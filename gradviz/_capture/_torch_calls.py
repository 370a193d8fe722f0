"""Logs the calls of PyTorch's functions: a mode that every call passes through."""

from __future__ import annotations

import sys
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz._capture._loop_base import unseen
from gradviz._capture._torch_ops import Op, describe_function
from gradviz._capture._torch_values import grad_fn_of, version_of
from gradviz.program.events import Call
from gradviz.program.values import Value, Write

if TYPE_CHECKING:
    from gradviz._capture._torch_log import TorchLog

Met = list[tuple[Any, Value]]
_Open = tuple[Call, Met, int]  # with the number of the node that comes next

_ELSEWHERE = ("pass", "grad_mode")  # logged, with their errors, by other parts
_SIMPLE = frozenset({int, float, bool})
_RESULTS = (bool, int, float, complex, str)


class TorchCalls:
    """Turns calls of PyTorch's functions into events."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self.torch = torch
        self.log = log
        self.values = log.values
        self._ops: dict[Any, Op] = {}
        self._tensor = torch.Tensor
        self._ordinary = {torch.Tensor, torch.nn.Parameter}
        self._peek = torch._C._autograd._get_sequence_nr
        self._grad_enabled = torch.is_grad_enabled
        self._inference = torch.is_inference_mode_enabled
        self.mode = _make_mode(torch, self)

    # ---- one call -----------------------------------------------------------------

    def op(self, func: Any) -> Op:
        """Return how calls of a function are logged."""
        op = self._ops.get(func)
        if op is None:
            op = describe_function(func)
            if func is self.torch.Tensor.backward or op.name in ("backward", "grad"):
                op = Op(op.name, "pass")  # logged where it begins
            self._ops[func] = op
        return op

    def is_wanted(self, op: Op, caller: FrameType) -> bool:
        """Tell whether this call gets an event of its own."""
        log, here = self.log, self.log.here
        if log.muted or not log.on:
            return False
        if op.how == "users" and not log.user_files[caller.f_code.co_filename]:
            return False
        # A step with a closure runs unmuted; it is logged as a whole.
        return here.now.stepping is None or log.site() != log.loop.step_site

    def begin(
        self, op: Op, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Open | None:
        """Describe a call that is about to run."""
        met: Met = []
        try:
            if self._ordinary.issuperset(types):
                call = self._begin(op, args, kwargs, met)
            else:  # a subclass of the user is not to see our questions
                with self.torch._C.DisableTorchFunction():
                    call = self._begin(op, args, kwargs, met)
        except Exception as error:
            self.log.stop(error)
            return None
        return call, met, self._peek()

    def end(self, op: Op, types: Any, opened: _Open, result: Any) -> None:
        """Describe what a call gave, and log it."""
        try:
            if self._ordinary.issuperset(types):
                self._end(op, opened, result)
            else:
                with self.torch._C.DisableTorchFunction():
                    self._end(op, opened, result)
        except Exception as error:
            self.log.stop(error)

    def failed(
        self,
        op: Op,
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        opened: _Open | None,
        error: BaseException,
    ) -> None:
        """Log a call that raised, also one that would not be logged otherwise."""
        log = self.log
        if opened is None and op.how not in _ELSEWHERE and log.on and not log.muted:
            opened = self.begin(op, types, args, kwargs)
        if opened is not None:
            call = opened[0]
            call.error = f"{type(error).__name__}: {error}"
            log.append(call)

    def _begin(
        self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], met: Met
    ) -> Call:
        here, values = self.log.here, self.values
        site, stack = self.log.place()
        tensor_type, arguments = self._tensor, list[Any]()
        for each in args:
            if isinstance(each, tensor_type):
                value = values.of(each)
                met.append((each, value))
                arguments.append(value)
            elif each is None or type(each) in _SIMPLE:
                arguments.append(each)
            else:
                arguments.append(values.argument(each, met))
        keywords: dict[str, Any] = {}
        for key, each in kwargs.items():
            simple = each is None or type(each) in _SIMPLE
            keywords[key] = each if simple else values.argument(each, met)
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
            module=here.now.module,
            within=here.now.within,
        )

    def _end(self, op: Op, opened: _Open, result: Any) -> None:
        log = self.log
        call, met, first = opened
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
        last = self._peek()
        if last > first:
            call.nodes = tuple(range(first + 1, last + 1))
            log.graph.made_by(call)
        written = call.nodes[-1] if call.nodes and call.writes else None
        call.outputs = tuple(
            [
                self.values.result(
                    each,
                    not op.uninitialized,
                    written if written and each._is_view() else None,
                )
                for each in outputs
            ]
        )
        if not call.nodes:
            self._read_what_ends(met, call)
        log.append(call)
        if op.exports:
            log.exports.add(met, outputs)
        if log.exports.watched:
            log.exports.look(call, met, outputs)

    def _read_what_ends(self, met: Met, call: Call) -> None:
        """Read the graphs behind arguments whose result has none: it may be a cut."""
        graph = self.log.graph
        if any(value.requires_grad for value in call.outputs):
            return
        for tensor, value in met:
            if value.node is not None and not graph.is_known(value.node):
                graph.read(grad_fn_of(tensor))

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


def _make_mode(torch: Any, calls: TorchCalls) -> Any:
    from torch.overrides import TorchFunctionMode

    class ProgramMode(TorchFunctionMode):
        """Sees every call of a function of PyTorch, and runs it as it is."""

        @unseen
        def __torch_function__(
            self,
            func: Any,
            types: Any,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            __tracebackhide__ = True
            if kwargs is None:
                kwargs = {}
            op, opened = calls.op(func), None
            how = op.how
            if how == "record" or how == "users":
                if calls.is_wanted(op, sys._getframe(1)):
                    opened = calls.begin(op, types, args, kwargs)
            elif how == "grad_mode":
                calls.log.try_(calls.log.modes.grad_mode, args)
            elif how == "node":
                calls.log.try_(calls.log.hooks.asked_for_node, *args[:1])
            elif how == "hook":
                args, kwargs = calls.log.hooks.wrapped(args, kwargs)
            try:
                result = func(*args, **kwargs)
            except BaseException as error:
                calls.failed(op, types, args, kwargs, opened, error)
                raise
            if opened is not None:
                calls.end(op, types, opened, result)
            elif how == "hook":
                calls.log.hooks.registered(func, args, result)
            return result

    return ProgramMode()
