"""Runs modules that are known by heart, and logs what they do."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, cast

from gradviz._capture.adapters.pytorch.graph.tensor_table import IS_VIEW, with_version
from gradviz._capture.adapters.pytorch.known_modules.guards import guard_of
from gradviz._capture.adapters.pytorch.known_modules.template import (
    ModuleTable,
    Run,
    RunInputs,
)
from gradviz._capture.training_loop.modules import finder
from gradviz._capture.training_loop.patches import Anything, unseen
from gradviz.program.events import Call, Event, ModuleCall

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.training_loop.modules import ModulePart


def unusual_context_of(log: TorchContext) -> Callable[[], bool]:
    """Return what tells whether modules do otherwise here than in most places."""
    torch, here, observed = log.torch, log.here, observer_check(log)
    c, inference = torch._C, torch.is_inference_mode_enabled
    autocast = c._is_any_autocast_enabled
    transforms = c._are_functorch_transforms_active

    def unusual() -> bool:
        strange = autocast() or transforms() or inference() or observed()
        return strange or here.now.stepping is not None

    return unusual


def observer_check(log: TorchContext) -> Callable[[], bool]:
    """Return what tells whether somebody besides us follows the calls of modules."""
    c, module = log.torch._C, log.torch.nn.modules.module
    dispatch = c._len_torch_dispatch_stack
    packs = c._autograd._top_saved_tensors_default_hooks
    after, before = module._global_forward_hooks, module._global_forward_pre_hooks
    later, earlier = module._global_backward_hooks, module._global_backward_pre_hooks

    def observed() -> bool:
        return bool(
            after or before or later or earlier or dispatch() or packs(True) is not None
        )

    return observed


def runner_of(
    part: ModulePart,
    calls: TorchCalls,
    table: ModuleTable,
    original: Anything,
    find: Anything,
    logged: Anything,
) -> Anything:
    """Return what runs a module that is known; our mode is off the stack meanwhile.

    Of others ``find`` is to see to, or ``logged`` where it is no time to look at them.
    """
    log, known = calls.log, table.rows.get
    c, here, line_of, users = log.torch._C, part.here, finder(part), log.user_files
    look, note, observed = (
        guard_of(log, known),
        _run_logger(calls),
        observer_check(log),
    )
    peek, grad_enabled = c._autograd._get_sequence_nr, log.torch.is_grad_enabled
    depth, at = c._len_torch_function_stack, c._get_function_stack_at
    pop, push = c._pop_torch_function_stack, c._push_on_torch_function_stack
    mode, touches, watched = calls.mode, log.exports.touches, log.exports.watched

    @unseen
    @functools.wraps(original)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if table.inside and table.inside == get_ident():
            return original(module, *args, **kwargs)
        found = known(id(module))
        run = None if found is None else found.last
        if (
            run is None
            or kwargs
            or run.arity != len(args)
            or not run.fits(*args)
            or not log.brief
            or log.muted
            or not part.on
            or not grad_enabled()
        ):
            return find(module, *args, **kwargs)
        now, count = here.now, depth()
        if (
            not count
            or at(count - 1) is not mode
            or now.stepping is not None
            or observed()
        ):
            return logged(module, *args)
        first, place, lent = 0, (), False
        pop()
        try:
            try:
                run_inputs = look(run, module, args)
                if run_inputs is not None and watched:
                    lent = touches((*run_inputs[0], *run_inputs[1].glances))
                    run_inputs = None if lent else run_inputs
                if run_inputs is not None:
                    frame = sys._getframe(1)
                    code, lasti = frame.f_code, frame.f_lasti
                    if not users[code.co_filename]:
                        code, lasti = line_of(frame, now)
                    place = code, lasti, now.thread, now.module, now.within
                    first, table.inside = peek(), now.thread
            except Exception as error:
                log.stop(error)
                run_inputs = None
            if run_inputs is not None:
                try:
                    result = original(module, *args)
                except BaseException as error:
                    table.inside = 0
                    log.try_(_log_failed, calls, run, place, run_inputs, first, error)
                    raise
                table.inside = 0
                try:
                    if not note(run, place, run_inputs, first, result):
                        log.try_(
                            _log_deviation,
                            calls,
                            run,
                            place,
                            args,
                            run_inputs,
                            first,
                            result,
                        )
                except Exception as error:
                    log.stop(error)
                return result
        finally:
            push(mode)
        if lent:
            return logged(module, *args)
        table.forget(module)  # learned from another one, or when it was otherwise
        return find(module, *args)

    return call


def _run_logger(calls: TorchCalls) -> Callable[..., bool]:
    """Return what logs a run as one note, and tells whether it was as before."""
    log = calls.log
    tensors, storages = log.tensors, log.values.storages
    raw, describe_later = log.program.raw, log.values.describe_later
    acquire, release = log.lock.acquire, log.lock.release
    check = log.nonfinite.of_results
    told, peek = calls.graph.producers.recent, log.torch._C._autograd._get_sequence_nr

    def note(
        run: Run, place: tuple[Any, ...], run_inputs: RunInputs, first: int, result: Any
    ) -> bool:
        last, template = peek(), run.links[-1].template
        if (
            last - first != run.count
            or not template.fits(result)
            or result._is_view() is not template.output[IS_VIEW]
        ):
            return False
        tensor, storage, made = tensors.count, storages.count, len(run.links)
        tensors.count, storages.count = tensor + made, storage + made
        glance = template.like(tensor + made, storage + made, result._version, last)
        acquire()
        try:
            index = log.next_index
            log.next_index = index + run.size
            noted = "run", index, run, place, first, tensor, storage, run_inputs, glance
            raw.append(noted)
            if len(raw) > log.most or log.watchful:
                log.added(index)
        finally:
            release()
        describe_later(result, glance, noted)
        told.append(noted)
        check(noted, result)
        return True

    return note


def _events(
    log: TorchContext,
    run: Run,
    place: tuple[Any, ...],
    run_inputs: RunInputs,
    first: int,
) -> list[Event]:
    """Return the events of a run that was not as before, as if it had been."""
    numbers = first, log.tensors.count, log.values.storages.count
    return run.events(
        log.program.value, log.next_index, place, *numbers, run_inputs, None
    )


def _log_failed(
    calls: TorchCalls,
    run: Run,
    place: tuple[Any, ...],
    run_inputs: RunInputs,
    first: int,
    error: BaseException,
) -> None:
    """Log a run that raised, up to the call that did; it had made some nodes."""
    log = calls.log
    events = _events(log, run, place, run_inputs, first)
    done, made = run.done(log.torch._C._autograd._get_sequence_nr() - first)
    log.tensors.count += done
    log.values.storages.count += done
    events = events[: run.size - 2 * (len(run.links) - done - 1)]
    call, begin = cast(Call, events[-1]), cast(ModuleCall, events[0])
    call.outputs, call.nodes = (), ()
    call.error = f"{type(error).__name__}: {error}"
    begin.left = call.index + 1
    for node, behind in enumerate(run.producers[:made], first + 1):
        calls.graph.made_by((node,), begin.index + behind)
    for event in events:
        log.append(event)


def _log_deviation(
    calls: TorchCalls,
    run: Run,
    place: tuple[Any, ...],
    args: tuple[Any, ...],
    run_inputs: RunInputs,
    first: int,
    result: Any,
) -> None:
    """Log a run that gave something else than before."""
    log = calls.log
    begin = _events(log, run, place, run_inputs, first)[0]
    log.append(begin)
    run.known.runs.clear()
    run.known.last = None
    if run.row is None:
        template, (code, lasti, thread, _, within) = run.links[0].template, place
        given, held, versions = run_inputs
        inputs = template.ordered(
            iter(given), map(with_version, held.glances, versions)
        )
        header = template.header((code, lasti), (thread, begin.index, within), inputs)
        arguments = iter([args[at] for at, _ in template.given])
        module = run.known.reference()
        parameters = map(module.__dict__["_parameters"].get, template.names)
        met = list(zip(template.ordered(arguments, parameters), inputs, strict=True))
        calls.end(template.op, (header, met, first), result)
    else:
        log.stop(RuntimeError("a Sequential gave something else than before"))
