"""Logs the calls of PyTorch's functions: a mode that every call passes through."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradviz._capture.adapters.pytorch.call_arguments import (
    GivenTensors,
    OpenCall,
    call_opener,
)
from gradviz._capture.adapters.pytorch.call_fast_path import fast_path_of
from gradviz._capture.adapters.pytorch.graph.tensor_table import (
    NEEDS,
    NODE,
    STORAGE,
    VERSION,
)
from gradviz._capture.adapters.pytorch.isolation import Isolated, is_opaque
from gradviz._capture.adapters.pytorch.op_names import Op, describe_function
from gradviz._capture.adapters.pytorch.repeated_calls import ENOUGH, RepeatedCalls
from gradviz._capture.adapters.pytorch.tensor_records import version_of
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.training_loop.patches import unseen
from gradviz.program.events import Call
from gradviz.program.noted import Glance

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.grad_modes import TorchModes
    from gradviz._capture.adapters.pytorch.graph.nodes import TorchGraph
    from gradviz._capture.adapters.pytorch.hooks import TorchHooks

_ELSEWHERE = ("pass", "grad_mode")  # logged, with their errors, by other parts
_RESULTS = (bool, int, float, complex, str)


class TorchCalls:
    """Turns calls of PyTorch's functions into events."""

    def __init__(
        self,
        torch: Any,
        log: TorchContext,
        graph: TorchGraph,
        hooks: TorchHooks,
        modes: TorchModes,
    ) -> None:
        self.torch = torch
        self.log, self.graph = log, graph
        self.hooks, self.modes = hooks, modes
        self.values = log.values
        self.ops: dict[Any, Op] = {}
        self._tensor = torch.Tensor
        self._peek = torch._C._autograd._get_sequence_nr
        self.begin = call_opener(log)
        self.repeated = RepeatedCalls(torch, log)
        self.mode = _make_mode(torch, self)

    # ---- one call -----------------------------------------------------------------

    def op(self, func: Any) -> Op:
        """Return how calls of a function are logged."""
        op = self.ops.get(func)
        if op is None:
            op = describe_function(func)
            if func is self.torch.Tensor.backward or op.name in ("backward", "grad"):
                op = Op(op.name, "pass")  # logged where it begins
            self.ops[func] = op
        return op

    def counts(self, op: Op, caller: FrameType) -> bool:
        """Tell whether a call of a large step need not be noted; remember its line."""
        log, size = self.log, self.log.size
        if log.muted or not log.on or (op.writes and not size.writes_too):
            return False
        size.counted += 1
        frame: FrameType | None = caller
        while frame is not None and not log.user_files[frame.f_code.co_filename]:
            frame = frame.f_back
        line = None if frame is None else (frame.f_code, frame.f_lasti)
        size.lines.begins(self._peek(), line)
        return True

    def end(self, op: Op, open_call: OpenCall, result: Any) -> None:
        """Describe what a call gave, and log it."""
        log, values, tensor_type = self.log, self.values, self._tensor
        try:
            header, met, first = open_call
            last = self._peek()
            if last == first:
                nodes = ()
            elif last == first + 1:
                nodes = (last,)
            else:
                nodes = tuple(range(first + 1, last + 1))
            outputs: Sequence[Any] = ()
            plain = None
            if isinstance(result, tensor_type):
                outputs = (result,)
            elif op.sets:
                outputs = (met[0][0],)
            elif isinstance(result, tuple | list):
                outputs = list(_tensors_in(result, tensor_type))
            elif isinstance(result, _RESULTS):
                plain = result
            writes: tuple[Any, ...] = ()
            try:
                for tensor, before in met:
                    if tensor._version != before[VERSION]:
                        writes = self._writes(header, op, met, outputs)
                        break
            except RuntimeError:  # of inference mode: there is no version
                writes = self._writes(header, op, met, outputs)
            if op.touches_flags and met:
                values.forget(met[0][0])
            if writes or op.uninitialized:
                written = nodes[-1] if nodes and writes else None
                made = tuple([self._made(each, op, written) for each in outputs])
            elif nodes and not op.shares:
                node = last if last == first + 1 else None
                made = tuple([log.fresh_output(each, header, node) for each in outputs])
            else:
                made = tuple([values.made(each) for each in outputs])
            exports, saving = log.exports, nodes or op.exports or header[9] is not None
            if exports.untold and saving:
                exports.tell((*header[5], *made))
            index = log.note("call", header, made, nodes, writes, plain, *self._modes())
            noted = log.program.raw[-1]  # before somebody makes a record of it
            if nodes:
                self.graph.made_by(nodes, index, header)
            elif not log.skims or self.repeated.is_news(header):
                self._read_what_ends(met, made)
            if op.exports:
                exports.add(met, outputs)
            if exports.watched and exports.look(index, met, outputs, bool(saving)):
                self.graph.lent.update(nodes)
            if not op.uninitialized:
                results = outputs or [tensor for tensor, _ in met[:1] if writes]
                log.nonfinite.of_results(noted, results)
        except Exception as error:
            log.stop(error)

    def failed(
        self,
        op: Op,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        caller: FrameType,
        open_call: OpenCall | None,
        error: BaseException,
    ) -> None:
        """Log a call that raised, also one that would not be logged otherwise."""
        log = self.log
        if open_call is None and op.how not in _ELSEWHERE and log.on and not log.muted:
            open_call = self.begin(op, args, kwargs, caller)
        if open_call is not None:
            log.note("call", open_call[0], (), (), (), None, *self._modes())
            call = log.program.events[-1]
            if isinstance(call, Call):
                call.error = f"{type(error).__name__}: {error}"

    def _modes(self) -> tuple[bool, bool]:
        return self.torch.is_grad_enabled(), self.torch.is_inference_mode_enabled()

    def _made(self, result: Any, op: Op, written: int | None) -> Glance:
        """Look at a result; ``written`` is the node of a call that wrote in place."""
        node = written if written and result._is_view() else None
        return self.values.made(result, not op.uninitialized, node)

    def _read_what_ends(self, met: GivenTensors, made: tuple[Glance, ...]) -> None:
        """Read the graphs behind arguments whose result has none: it may be a cut."""
        graph = self.graph
        for glance in made:
            if glance[NEEDS]:
                return
        for tensor, glance in met:
            if glance[NODE] is not None and not graph.is_known(glance[NODE]):
                graph.read(grad_fn_of(tensor))

    # ---- writes -------------------------------------------------------------------

    def _writes(
        self,
        header: tuple[Any, ...],
        op: Op,
        met: GivenTensors,
        results: Sequence[Any],
    ) -> tuple[Any, ...]:
        """Return storage, version before and after, and target of each write.

        Of several tensors of one memory, what a call gives back is what it wrote.
        """
        if len(met) > 1:
            given_back = {id(each) for each in results}
            met = sorted(met, key=lambda each: id(each[0]) not in given_back)
        writes: dict[int, Any] = {}
        for tensor, before in met:
            storage, version = before[STORAGE], before[VERSION]
            now = version_of(tensor)
            if now != version and storage not in writes:
                target = self._written_part(op, tensor, header[6])
                if target is None:
                    target = self.values.look(tensor)
                writes[storage] = storage, version, now, target
        return tuple(writes.values())

    def _written_part(self, op: Op, tensor: Any, given: Sequence[Any]) -> Glance | None:
        """Return which elements ``tensor[key] = value`` wrote, for a basic key."""
        if op.name != "__setitem__" or len(given) < 2 or is_opaque(self.torch, tensor):
            return None
        key = given[1]
        for each in key if isinstance(key, tuple) else (key,):
            if not isinstance(each, int | slice | type(None) | type(Ellipsis)):
                return None
            if isinstance(each, bool):
                return None
        with Isolated(self.torch):
            part = tensor.detach()[key]
            return self.values.part(part, self.values.look(tensor))


def _tensors_in(results: Any, cls: type) -> Any:
    for each in results:
        if isinstance(each, cls):
            yield each
        elif isinstance(each, tuple | list):
            yield from _tensors_in(each, cls)


def _make_mode(torch: Any, calls: TorchCalls) -> Any:
    from torch.overrides import TorchFunctionMode

    known, log, frame = calls.ops.get, calls.log, sys._getframe
    begin, end, log_fast, users = (
        calls.begin,
        calls.end,
        fast_path_of(log, calls.graph.producers.recent),
        log.user_files,
    )
    size, tensor_type = log.size, torch.Tensor
    plain = frozenset({tensor_type, torch.nn.Parameter})  # of calls without arguments
    told, is_aside = calls.repeated.counts.get, calls.repeated.is_aside
    ran, grad_enabled = calls.repeated.ran, torch.is_grad_enabled
    unasked = torch._C.DisableTorchFunction  # of classes and other modes of the user's
    others = torch._C._len_torch_function_stack  # ours has stepped aside

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
            op, open_call, alone = known(func) or calls.op(func), None, False
            how, at, over = op.how, None, False
            if how == "record":
                if size.counting and calls.counts(op, frame(1)):
                    pass
                elif not log.muted and log.on:
                    if log.skims and (op.fast or op.exports):
                        caller, graph = frame(1), grad_enabled()
                        at = id(caller.f_code), caller.f_lasti, id(func), graph
                        over = told(at, 0) >= ENOUGH and is_aside(at, args, op, caller)
                    alone = (not types or plain.issuperset(types)) and not others()
                    if over:
                        pass
                    elif alone:
                        open_call = begin(op, args, kwargs, frame(1))
                    else:
                        with unasked():
                            open_call = begin(op, args, kwargs, frame(1))
            elif how == "users":
                if not log.muted and log.on and users[frame(1).f_code.co_filename]:
                    with unasked():
                        open_call = begin(op, args, kwargs, frame(1))
            elif how == "grad_mode":
                log.try_(calls.modes.grad_mode, args)
            elif how == "node":
                log.try_(calls.hooks.asked_for_node, *args[:1])
            elif how == "hook":
                args, kwargs = calls.hooks.wrapped(args, kwargs)
            try:
                result = func(*args, **kwargs)
            except BaseException as error:
                with unasked():
                    calls.failed(op, args, kwargs, frame(1), open_call, error)
                raise
            if open_call is not None:
                if not (alone and op.fast and log_fast(open_call, result)):
                    with unasked():
                        end(op, open_call, result)
                        if at is not None:
                            log.try_(calls.repeated.told, at, open_call)
            elif over:
                if at is not None and at[3]:
                    ran(at, result)
            elif how == "hook":
                calls.hooks.registered(func, args, result)
            elif size.counting and type(result) is tensor_type and how == "record":
                size.latest = ref(result)
            return result

    return ProgramMode()
