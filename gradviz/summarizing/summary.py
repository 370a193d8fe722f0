"""``gradviz.summary``: the runs of a model, put together."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from gradviz._capture.names.user_code import probing
from gradviz._capture.open_log import (
    Engine,
    imported_engines,
    open_log,
    refuse_unusable,
)
from gradviz.errors import CaptureError
from gradviz.program import Call
from gradviz.summarizing.flops import flops_of
from gradviz.summarizing.intact import copied, intact
from gradviz.summarizing.kept import Kept
from gradviz.summarizing.layers import Costs, layers_of
from gradviz.summarizing.show import Summary
from gradviz.summarizing.turns import Mark, Turn, turns_of

_LAZY = (
    "the model has parameters without a shape (a lazy layer's); call it once, then ask "
    "for its summary."
)
_SCRIPTED = "a scripted model does not show its layers; give the one it was made from."
_NOWHERE = "Operations are not known of code that is in no file, as of `python -c`."
_TOO_LONG = (
    "The run was too long to be told whole: operations are known of its last "
    "{count:,} events."
)


def summary(model: Any, *inputs: Any, **named: Any) -> Summary:
    """List the layers of a model: output shapes, parameters, and what a forward costs.

    The model is called three times, as ``model(*inputs, **named)``, in the modes it is
    in and with grad mode on: once under a log, for the floating point operations (of
    what multiplies matrices, as torch.utils.flop_counter counts) and the bytes that its
    graph keeps for a backward pass (storages, each once, parameters and buffers not);
    twice alone, for the time in nanoseconds, the shorter of both. Numbers of a layer
    include what runs inside it, in all its calls. Shared modules and parameters are
    counted once, where they come first; layers that never run are marked.

    Afterwards the model, its inputs and all random numbers are bit-equal to before.
    Hooks of the program run with the model. Raises CaptureError if ``model`` is no
    module of PyTorch or gradtape, is scripted or has lazy parameters; what the model
    raises comes through.

    >>> import torch, gradviz
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> found = gradviz.summary(model, torch.randn(16, 4))
    >>> found.total.parameters, found.total.flops, found["0"].outputs
    (49, 1280, ((16, 8),))
    >>> print(found.to_text(depth=0).splitlines()[-1])
    49 parameters: 49 trainable, 0 frozen.
    """
    engine = _engine_of(model)
    lib = sys.modules[engine]
    model = getattr(model, "_orig_mod", model)  # of what torch.compile made
    modules = list(model.modules())
    _refuse(lib, model, modules)

    def call() -> Any:
        given = copied((inputs, named), lib.Tensor)
        return model(*given[0], **given[1])

    with intact(lib, modules), lib.enable_grad():
        logged = _logged(engine, lib, model, modules, call)
    with intact(lib, modules), lib.enable_grad(), probing():
        timed = _timed(lib, model, modules, call)
    with intact(lib, modules), lib.enable_grad(), probing():
        again = _timed(lib, model, modules, call)
    timed = min(timed, again, key=_elapsed_ns)  # one may have been interrupted
    layers = layers_of(model, _costs(logged, timed), logged.used)
    return Summary(type(model).__name__, layers, tuple(logged.notes))


def _engine_of(model: Any) -> Engine:
    for engine in imported_engines():
        if isinstance(model, sys.modules[engine].nn.Module):
            refuse_unusable(engine)
            return engine
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    raise CaptureError(
        "expected a module of PyTorch or gradtape, got "
        + kind.removeprefix("builtins.")
    )


def _refuse(lib: Any, model: Any, modules: list[Any]) -> None:
    """Raise CaptureError for a model that has no layers to list, or not yet."""
    if not all(isinstance(vars(each).get("_parameters"), dict) for each in modules):
        raise CaptureError(_SCRIPTED)
    if any(lib.nn.parameter.is_lazy(each) for each in model.parameters()):
        raise CaptureError(_LAZY)


# ---- the runs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Logged:
    """What the run under a log told."""

    turns: list[Turn]  # marked by events of the log and by bytes that were kept
    first: int  # the first event that the log still has
    flops: list[int | None]  # by event, from that one on
    used: set[int]  # ids of the parameters that a call took
    notes: list[str]


def _logged(
    engine: Engine,
    lib: Any,
    model: Any,
    modules: list[Any],
    call: Callable[[], object],
) -> _Logged:
    kept = Kept([*model.parameters(), *model.buffers()])
    with open_log(engine) as log:
        nowhere = engine == "gradtape" and log.site() is None
        with (
            turns_of(modules, lambda: (log.next_index, kept.nbytes), lib) as turns,
            kept.listening(lib),
        ):
            result = call()  # held until all is counted: its graph holds what is kept
        events = log.program.events
        del result
    calls = [each for each in events if isinstance(each, Call)]
    taken = {value.tensor for each in calls for value in each.inputs}
    used = {id(p) for p in model.parameters() if log.tensors.known(p) in taken}
    flops = [
        None if nowhere else flops_of(each) if isinstance(each, Call) else 0
        for each in events
    ]
    first = events[0].index if events else 0
    notes = [*log.program.notes, *dict.fromkeys(log.program.unseen.values())]
    if nowhere:
        notes.append(_NOWHERE)
    if first:
        notes.append(_TOO_LONG.format(count=len(events)))
    return _Logged(turns, first, flops, used, notes)


def _timed(
    lib: Any, model: Any, modules: list[Any], call: Callable[[], object]
) -> list[Turn]:
    tensors = [*model.parameters(), *model.buffers()]
    waits = any(each.device.type == "cuda" for each in tensors)

    def now() -> Mark:
        if waits:  # for what was asked of the device so far
            lib.cuda.synchronize()
        return (time.perf_counter_ns(),)

    with turns_of(modules, now, lib) as turns:
        call()
    return turns


def _elapsed_ns(turns: list[Turn]) -> int:
    first = turns[0]  # the model's own
    return 0 if first.ended is None else first.ended[0] - first.began[0]


def _costs(logged: _Logged, timed: list[Turn]) -> dict[int, Costs]:
    """Add up the turns of each module; one inside another of its own is in that."""
    costs: dict[int, Costs] = {}
    known = list(accumulate((each or 0 for each in logged.flops), initial=0))
    unknown = list(accumulate((each is None for each in logged.flops), initial=0))
    for turn in logged.turns:
        own = costs.setdefault(turn.module, Costs())
        own.calls += 1
        own.outputs = turn.shapes or own.outputs
        if turn.inner or turn.ended is None:
            continue
        own.kept_bytes += turn.ended[1] - turn.began[1]
        begun, end = (mark[0] - logged.first for mark in (turn.began, turn.ended))
        if own.flops is None or begun < 0 or unknown[end] > unknown[begun]:
            own.flops = None
        else:
            own.flops += known[end] - known[begun]
    for turn in timed:
        if not turn.inner and turn.ended is not None and turn.module in costs:
            costs[turn.module].elapsed_ns += turn.ended[0] - turn.began[0]
    return costs
