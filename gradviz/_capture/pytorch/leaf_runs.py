"""Runs modules that are known by heart, and logs what they do."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from gradviz._capture.loop.base import Anything, unseen
from gradviz._capture.loop.module_calls import finder
from gradviz._capture.pytorch.leaf import LIKE, Run, Seen, as_they_were
from gradviz._capture.pytorch.tables import GLANCE, IS_LEAF, IS_VIEW, NEEDS, VERSION
from gradviz.program.events import Call, Event, ModuleCall

if TYPE_CHECKING:
    from gradviz._capture.loop.modules import ModulePart
    from gradviz._capture.pytorch.leaf import Known
    from gradviz._capture.pytorch.log import TorchLog
    from gradviz.program.noted import Glance

UNLIKE: Any = object()
"""Instead of a result: this call is not as the one before, and was not made."""


def others_of(log: TorchLog) -> Callable[[], bool]:
    """Return what tells whether somebody besides us follows the calls of modules."""
    torch = log.torch
    c, module = torch._C, torch.nn.modules.module
    autocast, dispatch = c._is_any_autocast_enabled, c._len_torch_dispatch_stack
    transforms = c._are_functorch_transforms_active
    packs = c._autograd._top_saved_tensors_default_hooks
    inference, here = torch.is_inference_mode_enabled, log.here
    after, before = module._global_forward_hooks, module._global_forward_pre_hooks
    later, earlier = module._global_backward_hooks, module._global_backward_pre_hooks
    watched = log.exports.watched

    def others() -> bool:
        return bool(
            after
            or before
            or later
            or earlier
            or watched
            or autocast()
            or transforms()
            or dispatch()
            or inference()
            or packs(True) is not None
            or here.now.stepping is not None
        )

    return others


def runner_of(
    part: ModulePart, log: TorchLog, original: Anything, known: Any
) -> Anything:
    """Return what runs a module that is known; our mode is off the stack meanwhile."""
    here, find, look, note = part.here, finder(part), _looker(log, known), _noter(log)
    peek, quick = log.torch._C._autograd._get_sequence_nr, part.quick

    @unseen
    def call(run: Run, module: Any, args: tuple[Any, ...], frame: FrameType) -> Any:
        __tracebackhide__ = True
        try:
            seen = look(run, module, args)
            if seen is None:
                return UNLIKE
            now = here.now
            place = *find(frame, now), now.thread, now.module, now.within
        except Exception as error:
            log.stop(error)
            return UNLIKE
        first = peek()
        quick.inside = now.thread
        try:
            result = original(module, *args)
        except BaseException as error:
            quick.inside = 0
            log.try_(_log_failed, log, run, place, seen, first, error)
            raise
        quick.inside = 0
        try:
            if not note(run, place, seen, first, result):
                log.try_(_log_other, log, run, place, seen, first, result)
        except Exception as error:
            log.stop(error)
        return result

    return call


def _noter(log: TorchLog) -> Callable[..., bool]:
    """Return what logs a run as one note, and tells whether it was as before."""
    tensors, storages, plain = log.tensors, log.values.storages, log.torch.Tensor
    raw, lock, lend = log.program.raw, log.lock, log.values.lend
    told, peek = log.graph.makers.told, log.torch._C._autograd._get_sequence_nr

    def note(
        run: Run, place: tuple[Any, ...], seen: Seen, first: int, result: Any
    ) -> bool:
        last, leaf = peek(), run.links[-1].leaf
        if (
            type(result) is not plain
            or last - first != run.count
            or not leaf.fits(result)
        ):
            return False
        tensor, storage, made = tensors.count, storages.count, len(run.links)
        tensors.count, storages.count = tensor + made, storage + made
        glance = leaf.like(tensor + made, storage + made, result._version, last)
        _, *given = seen
        with lock:
            index = log.next_index
            log.next_index = index + run.size
            noted = "run", index, run, place, first, tensor, storage, *given, glance
            raw.append(noted)
            if len(raw) > log.most or log.watchful:
                log.added(index)
        lend(result, glance, noted)
        told.append(noted)
        return True

    return note


def _events(
    log: TorchLog, run: Run, place: tuple[Any, ...], seen: Seen, first: int
) -> list[Event]:
    """Return the events of a run that was not as before, as if it had been."""
    numbers = first, log.tensors.count, log.values.storages.count
    value, (_, *given) = log.program.value, seen
    return run.events(value, log.next_index, place, *numbers, *given, None)


def _log_failed(
    log: TorchLog,
    run: Run,
    place: tuple[Any, ...],
    seen: Seen,
    first: int,
    error: BaseException,
) -> None:
    """Log a run that raised, up to the call that did; it had made some nodes."""
    events = _events(log, run, place, seen, first)
    done, made = run.done(log.torch._C._autograd._get_sequence_nr() - first)
    log.tensors.count += done
    log.values.storages.count += done
    events = events[: run.size - 2 * (len(run.links) - done - 1)]
    call, begin = cast(Call, events[-1]), cast(ModuleCall, events[0])
    call.outputs, call.nodes = (), ()
    call.error = f"{type(error).__name__}: {error}"
    begin.left = call.index + 1
    nodes = range(first + 1, first + made + 1)
    log.graph.made_by(nodes, begin.index, run.makers)
    for event in events:
        log.append(event)


def _log_other(
    log: TorchLog,
    run: Run,
    place: tuple[Any, ...],
    seen: Seen,
    first: int,
    result: Any,
) -> None:
    """Log a run that gave something else than before."""
    begin = _events(log, run, place, seen, first)[0]
    log.append(begin)
    run.known.runs.clear()
    if run.row is None:
        leaf, (code, lasti, thread, _, within) = run.links[0].leaf, place
        tensors, glances, versions = seen
        inputs: Any = tuple(as_they_were(glances, versions))
        begun = leaf.begun((code, lasti), (thread, begin.index, within), inputs)
        met = list(zip(tensors, inputs, strict=True))
        log.calls.end(leaf.op, (begun, met, first), result)
    else:
        log.stop(RuntimeError("a Sequential gave something else than before"))


def _looker(log: TorchLog, known: Any) -> Callable[..., Seen | None]:
    """Return what looks at all tensors of a run.

    It finds None where a module or a tensor is not as it was.
    """
    look, rows = log.values.look, log.tensors.rows.get
    ordinary = {log.torch.Tensor, log.torch.nn.Parameter}

    def is_known(module: Any, before: Known) -> bool:
        own = module.__dict__
        return not (
            before.reference() is not module
            or type(module).forward is not before.forward
            or own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
        )

    def seen(run: Run, module: Any, args: tuple[Any, ...]) -> Seen | None:
        if run.row is None:
            children: Any = (module,)
        else:
            children = module.__dict__["_modules"].values()
            if len(args) != 1 or len(children) != len(run.links):
                return None
            if not is_known(module, run.known):
                return None
        tensors: list[Any] = []
        versions: list[int] = []
        glances: list[Glance | None] = []
        for child, (before, leaf, training, _) in zip(children, run.links, strict=True):
            own = child.__dict__
            if (
                known(id(child)) is not before
                or own["training"] is not training
                or not is_known(child, before)
            ):
                return None
            parameters = own["_parameters"]
            for source, like in leaf.wanted:
                if type(source) is not int:
                    tensor = parameters[source]
                elif args:
                    tensor = args[source]
                else:
                    glances.append(None)
                    continue
                row = rows(id(tensor), ())
                if len(row) <= GLANCE or row[0]() is not tensor:
                    return None
                glance, version = row[GLANCE], tensor._version
                if glance[NEEDS] is not tensor.requires_grad or (
                    glance[VERSION] != version  # of a leaf that is all
                    and (glance[IS_VIEW] or not glance[IS_LEAF])
                ):
                    glance = look(tensor)
                if glance[LIKE] != like or type(tensor) not in ordinary:
                    return None
                tensors.append(tensor)
                versions.append(version)
                glances.append(glance)
            args = ()
        return tensors, tuple(glances), tuple(versions)

    return seen
