"""Batch norm with ``momentum=0`` goes on normalising with its batches in training.

What it does
    Finds batch norm layers that ran in training mode with a momentum of 0 over several
    steps, and were evaluated with the running statistics that they had before.

Why is this bad
    The momentum says how much of a batch goes into the running mean and variance, not
    what a layer normalises with. In training mode that is the batch; in evaluation mode
    it is the old statistics, to which the weights were never fitted. The training loss
    is good and the evaluation bad, without an error.

Example
    ::

        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.momentum = 0.0

Use instead
    ::

        model.train()
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()

When it stays quiet
    Passes with another momentum in between (a second pass of the same batch that is not
    to count), statistics that are computed anew before the evaluation, and layers that
    are never put into evaluation mode.

References
    https://discuss.pytorch.org/t/25176
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gradviz.dependence import learning
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.bindings import set_attributes
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import decided, of_argument
from gradviz.diagnosis.decisions.frames import Spot
from gradviz.diagnosis.decisions.sites import site_of, sources_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Call,
    Event,
    History,
    Module,
    OptimizerCall,
    RawSite,
    TrainingSwitched,
    Value,
)

_STEPS = 3
_PLACES = {"running_mean": 1, "training": 5, "momentum": 6}  # of what it is given


@dataclass(slots=True, eq=False)
class _Kept:
    """The training of a layer since its statistics stand still."""

    call: Call  # the first one
    steps: set[int] = field(default_factory=set[int])
    off: TrainingSwitched | None = None  # what put it into evaluation mode since then


_Layer = tuple[Module, _Kept, Event]  # and what evaluated it


@rule("GV630", "momentum-of-zero", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that chose such a momentum."""
    kept: dict[int, _Kept] = {}  # by the memory of the running mean
    found: dict[RawSite | None, list[_Layer]] = {}
    steps = 0
    for event in history.events:
        if isinstance(event, OptimizerCall):
            steps += event.what == "step"
        elif isinstance(event, TrainingSwitched) and not event.training:
            _put_off(history, kept.values(), event)
        if not isinstance(event, Call) or plain(event.op) != "batch_norm":
            continue
        mean, momentum = _given(event, "running_mean"), _given(event, "momentum")
        if not isinstance(mean, Value):
            continue
        if not _given(event, "training"):
            _note(history, found, kept.pop(mean.storage, None), event)
        elif momentum == 0:
            kept.setdefault(mean.storage, _Kept(event)).steps.add(steps)
        else:
            kept.pop(mean.storage, None)
    for each in kept.values():
        if each.off is not None:  # of what came then, a long run tells nothing
            _note(history, found, each, each.off)
    for site, layers in found.items():
        yield _hit(history, site, layers)


def _given(call: Call, name: str) -> Any:
    """Return an argument of batch norm, whichever way it was given."""
    rest = call.arguments[_PLACES[name] :]
    return call.keywords.get(name, rest[0] if rest else None)


def _put_off(history: History, kept: Iterable[_Kept], event: TrainingSwitched) -> None:
    """Note of layers that they were put into evaluation mode after some steps."""
    for each in kept:
        module = module_around(history, each.call.module)
        if each.off is None and module is not None and len(each.steps) >= _STEPS:
            each.off = event if module.key in (event.module, *event.changed) else None


def _note(
    history: History,
    found: dict[RawSite | None, list[_Layer]],
    kept: _Kept | None,
    used: Event,
) -> None:
    """Remember a layer that is evaluated after such steps, by the line to blame."""
    if kept is None or len(kept.steps) < _STEPS:
        return
    module = module_around(history, kept.call.module)
    if module is not None:
        layers = found.setdefault(_chosen(history, module), [])
        if all(each is not module for each, _, _ in layers):
            layers.append((module, kept, used))


def _chosen(history: History, module: Module) -> RawSite | None:
    """Return the line that set the momentum to 0: after the construction, or in it."""
    sites = set[RawSite | None]()
    for source in sources_of(history):
        for statement, value in set_attributes(source, "momentum"):
            last = path(Spot(source, value))[-1]
            if not isinstance(last.node, ast.Constant) or last.node.value != 0:
                continue
            if last.node is not value:
                sites.add(decided(history, last, None).site)
            elif isinstance(statement, ast.Assign):
                sites.add(site_of(history, Spot(source, statement.targets[0])))
    if len(sites) == 1:
        return sites.pop()
    return of_argument(history, module, 2, ("momentum",)).site


def _switched_at(history: History, module: Module, used: Event) -> RawSite | None:
    """Return the line that put a layer in evaluation mode before it was used so."""
    off = [
        each.site
        for each in history.of(TrainingSwitched)
        if each.index <= used.index and module.key in (each.module, *each.changed)
    ]
    return off[-1] if off else used.site


def _hit(
    history: History,
    site: RawSite | None,
    layers: list[_Layer],
) -> Hit:
    (module, kept, used), several = layers[0], len(layers) > 1
    named = [each.name or each.kind for each, _, _ in layers]
    shown = [f"`{each}`" for each in named[:3]]
    shown += [f"{len(named) - 3} more"] if len(named) > 3 else []
    they, them = ("they", "them") if several else ("it", "it")
    made, evaluated = module.site == site, _switched_at(history, module, used)
    fix = (
        "Leave `momentum` as it is by default, 0.1: it is the part of a new batch."
        if made
        else f"Call `eval()` of {them} instead, after each `train()` of the model: "
        f"then {they} {learning.plural(len(layers), 'normalises', 'normalise')} with "
        "the running mean and variance in training, too."
    )
    return Hit(
        f"{learning.joined(shown)} {learning.plural(len(layers), 'has', 'have')} a "
        f"momentum of 0 from {history.line(site)}: the running mean and variance stay "
        f"as they were, and in training mode {they} "
        f"{learning.plural(len(layers), 'normalises', 'normalise')} with those of each "
        f"batch all the same, for {len(kept.steps)} steps. In evaluation mode "
        f"({history.line(evaluated)}) the old ones count, which the model was not "
        "trained with.",
        site,
        fix,
        symptom=evaluated,
        related=(Related("trained here", kept.call.site),),
        certainty=0.9,
    )
