"""Runs modules that are known by heart, and logs what they do."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz._capture.loop.base import Anything, unseen
from gradviz._capture.loop.module_calls import finder
from gradviz._capture.pytorch.leaf import LIKE, SEEN, Known, Leaf, Met
from gradviz._capture.pytorch.values import NEEDS, VERSION

if TYPE_CHECKING:
    from gradviz._capture.loop.modules import ModulePart
    from gradviz._capture.pytorch.log import TorchLog

UNLIKE: Any = object()
"""Instead of a result: this call is not as the one before, and was not made."""


def others_of(log: TorchLog) -> Callable[[Any], bool]:
    """Return what tells whether somebody besides us follows a module's call."""
    torch = log.torch
    c, module = torch._C, torch.nn.modules.module
    autocast, dispatch = c._is_any_autocast_enabled, c._len_torch_dispatch_stack
    transforms = c._are_functorch_transforms_active
    packs = c._autograd._top_saved_tensors_default_hooks
    inference, here = torch.is_inference_mode_enabled, log.here
    after, before = module._global_forward_hooks, module._global_forward_pre_hooks
    later, earlier = module._global_backward_hooks, module._global_backward_pre_hooks
    watched = log.exports.watched

    def others(module: Any) -> bool:
        own = module.__dict__
        return bool(
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or after
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


def runner_of(part: ModulePart, log: TorchLog, original: Anything) -> Anything:
    """Return what runs a module that is known; our mode is off the stack meanwhile."""
    enter, read, calls = _enterer(part, log), _reader(log), log.calls
    left, made_like, made_by = log.program.left, log.values.made_like, log.graph.made_by
    peek, plain = log.torch._C._autograd._get_sequence_nr, log.torch.Tensor

    @unseen
    def run(
        found: Known,
        leaf: Leaf,
        module: Any,
        args: tuple[Any, ...],
        kind: tuple[Any, ...],
        frame: FrameType,
    ) -> Any:
        __tracebackhide__ = True
        if found.reference() is not module or type(module).forward is not found.forward:
            return UNLIKE
        try:
            met = read(leaf, args, module.__dict__["_parameters"])
            if met is None:
                return UNLIKE
            index, begun = enter(leaf, module, kind, met, frame)
        except Exception as error:
            log.stop(error)
            return UNLIKE
        first = peek()
        try:
            result = original(module, *args)
        except BaseException as error:
            calls.failed(leaf.op, (), args, {}, frame, (begun, met, first), error)
            left[index] = log.next_index
            raise
        try:
            last = peek()
            if type(result) is plain and leaf.fits(result, met, last - first):
                glance = made_like(result, leaf.output, last)
                nodes = (last,) if last == first + 1 else (*range(first + 1, last + 1),)
                made_by(nodes, log.note("call", begun, (glance,), nodes, (), None))
            else:
                calls.end(leaf.op, (), (begun, met, first), result)
        except Exception as error:
            log.stop(error)
        left[index] = log.next_index
        return result

    return run


def _reader(log: TorchLog) -> Callable[..., Met | None]:
    """Return what looks at the tensors of a call; None where one is not as it was."""
    look, known = log.values.look, log.tensors.rows.get
    ordinary = {log.torch.Tensor, log.torch.nn.Parameter}

    def read(leaf: Leaf, args: tuple[Any, ...], own: dict[Any, Any]) -> Met | None:
        met: Met = []
        for source, like in leaf.wanted:
            tensor = args[source] if type(source) is int else own[source]
            row = known(id(tensor), ())
            if len(row) < SEEN or row[0]() is not tensor:
                return None
            # As look() does, but that storages nobody asked for stay as they are.
            glance = row[2]
            if (
                glance[VERSION] != tensor._version
                or glance[NEEDS] is not tensor.requires_grad
            ):
                glance = look(tensor)
            if glance[LIKE] != like or type(tensor) not in ordinary:
                return None
            met.append((tensor, glance))
        return met

    return read


def _enterer(
    part: ModulePart, log: TorchLog
) -> Callable[..., tuple[int, tuple[Any, ...]]]:
    """Return what logs that a module is called, and tells how its call begins."""
    here, rows, find = part.here, part.rows, finder(part)

    def enter(
        leaf: Leaf, module: Any, kind: tuple[Any, ...], met: Met, frame: FrameType
    ) -> tuple[int, tuple[Any, ...]]:
        place, row = here.now, rows[id(module)][1]
        code, lasti = find(frame, place)
        row.calls += 1
        modes, outer = kind[2:], place.module
        index = log.note("module", code, lasti, place.thread, row.key, *modes, outer)
        return index, leaf.begun(code, lasti, place, index, met)

    return enter
