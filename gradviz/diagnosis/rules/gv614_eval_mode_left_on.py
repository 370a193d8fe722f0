"""A model is trained in evaluation mode because nobody switched it back.

What it does
    Finds optimizer steps of a model that ran in evaluation mode since an ``eval()``
    that was meant for an evaluation.

Why is this bad
    Dropout does nothing and batch norm uses and keeps its old statistics: training
    goes on with another model than before.

Example
    ::

        def validate():
            net.eval()
            with torch.no_grad():
                return net(x)

Use instead
    ::

        def validate():
            net.eval()
            with torch.no_grad():
                result = net(x)
            net.train()
            return result

When it stays quiet
    Models without dropout or batch norm, frozen batch norm layers, frozen
    backbones in evaluation mode. A model in evaluation mode from the start, without an
    evaluation, is an information only, unless its batch norm has never seen a batch.

References
    https://github.com/pytorch/tutorials/pull/1624
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from gradviz.dependence import learning
from gradviz.dependence.nesting import calls_in
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.order import parting
from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.edits.training import into_loop, trained_again
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Backward,
    Event,
    History,
    Module,
    ModuleCall,
    OptimizerCall,
    RawSite,
    TrainingSwitched,
    following,
)

_MODAL = ("Dropout", "BatchNorm", "InstanceNorm", "RReLU", "LSTM", "GRU", "Transformer")


@rule("GV614", "eval-mode-left-on", "warning")
def check(history: History) -> Iterator[Hit]:
    switches: dict[int, TrainingSwitched] = {}  # module -> the switch to its mode
    trained_before: set[int] = set()
    evaluated: set[int] = set()  # since the switch
    waiting: dict[int, ModuleCall] = {}  # the last outermost calls that no pass reached
    trained: list[ModuleCall] = []  # those that a pass reached before the next step
    for event in history.events:
        if isinstance(event, TrainingSwitched):
            for key in {event.module, *event.changed}:
                switches[key] = event
                evaluated.discard(key)
        elif isinstance(event, ModuleCall) and event.parent is None:
            if event.grad_enabled:
                waiting[event.module] = event
            else:
                evaluated.add(event.module)
        elif isinstance(event, Backward) and event.api == "backward":
            reached = [c for c in waiting.values() if _learns(history, c, event)]
            trained += [waiting.pop(call.module) for call in reached]
            if not history.program.optimizers:
                yield from _trained(history, trained, event, switches, evaluated)
                trained = []
        elif isinstance(event, OptimizerCall) and event.what == "step":
            trained_before |= {each.module for each in trained if each.training}
            known = trained_before | evaluated
            yield from _trained(history, trained, event, switches, known)
            trained = []


def _trained(
    history: History,
    calls: list[ModuleCall],
    event: Backward | OptimizerCall,
    switches: dict[int, TrainingSwitched],
    known: set[int],
) -> Iterator[Hit]:
    """Yield hits for calls that an event trained while their module was in eval()."""
    for call in calls:
        switch = switches.pop(call.module, None)  # one word about each switch
        if not call.training and switch is not None and not switch.training:
            stepped = isinstance(event, OptimizerCall)
            sure = stepped and call.module in known
            yield from _hit(history, switch, call, event, sure)


def _learns(history: History, call: ModuleCall, backward: Backward) -> bool:
    module = history.program.modules.get(call.module)
    return module is not None and bool(
        learning.all_parameters(history, module) & set(backward.leaves)
    )


def _hit(
    history: History,
    switch: TrainingSwitched,
    call: ModuleCall,
    step: Backward | OptimizerCall,
    sure: bool,
) -> Iterator[Hit]:
    module = history.program.modules[call.module]
    later = following(history.backwards, switch.index)
    modal = _modal(history, module, {leaf for each in later for leaf in each.leaves})
    keys = {each.key for each in modal}
    inside = [
        each
        for each in history.of(ModuleCall)
        if call.index < each.index < (call.left or call.index) and each.module in keys
    ]
    if not modal or any(each.training for each in inside):
        return
    stepped = isinstance(step, OptimizerCall)
    sure = sure or (stepped and any(each.batches == 0 for each in modal))
    name = f"`{module.name}`" if module.name else f"the {module.kind}"
    kinds = sorted({each.kind for each in modal})
    behave = learning.joined(kinds) + learning.plural(len(kinds), " behaves", " behave")

    def said(site: RawSite | None) -> str:
        return f"`{history.text(site)}` in {history.line(site)}"

    known, since, used = _early(history), switch.site, call.site
    edit = trained_again(switch.site, call.site)
    once = _once_before(history, switch, call)
    early = None if once else _too_early(history, switch, call) or known.get(since)
    calling = None if once or early else _called_from(history, switch, step)
    if once is not None:
        culprit, used, edit = once, None, into_loop(once, since)
        message = (
            f"{said(once)} runs once, before the loop, and {said(since)} in it: from "
            f"the second iteration on, {name} is trained in evaluation mode, in which "
            f"{behave} otherwise."
        )
        fix = "Move it into the loop, to the top of it."
    elif early is not None:
        culprit, way, used = known.setdefault(since, early)
        edit = moved(culprit, way, after=True, beside=True)
        message = (
            f"{said(culprit)} comes before {said(way)}, which puts {name} in "
            f"evaluation mode again, by {said(since)}. "
            f"{history.line(used)} trains it so: {behave} as in evaluation."
        )
        fix = f"Move it behind {history.line(way)}."
    elif calling is not None:
        back, culprit = calling
        message = (
            f"{said(culprit)} leaves {name} in evaluation mode, by {said(since)}, and "
            f"the training goes on so up to {said(back)}: {behave} as in evaluation."
        )
        fix = "Call `.train()` after it, as at the beginning of the loop."
    else:
        since, culprit = None, _asked_for(history, switch)
        message = (
            f"{name} is in evaluation mode since {said(culprit)} and was trained so in "
            f"{history.line(used)}: {learning.joined(kinds)} in it "
            f"{learning.plural(len(kinds), 'behaves', 'behave')} as in evaluation."
        )
        fix = (
            "Call `.train()` when the evaluation is over, or at the top of each epoch."
        )
    yield Hit(
        message,
        culprit,
        fix,
        symptom=step.site,
        related=(
            Related("evaluation mode since", since),
            Related("trained in evaluation mode", used),
        ),
        severity="warning" if sure else "info",
        edit=edit,
        certainty=0.9 if sure else 0.5,
    )


def _asked_for(history: History, switch: TrainingSwitched) -> RawSite | None:
    """Return the line that asked for evaluation: ``set_mode("eval", net)``.

    A helper that switches to the mode that it is told has decided nothing.
    """
    where = spot(history, switch.site, switch.stack)
    asked = None if where is None else choice(where)
    if asked is None or not isinstance(asked.node, ast.Constant):
        return switch.site
    told = asked.source.file, asked.line
    return next((s for s in switch.stack if line_of(s) == told), switch.site)


@learning.once
def _early(history: History) -> dict[RawSite | None, tuple[RawSite, RawSite, RawSite]]:
    """Return what was found so far, by the ``eval()``.

    Of a step that is told in brief, nobody knows the frames.
    """
    del history
    return {}


def _too_early(
    history: History, switch: TrainingSwitched, call: ModuleCall
) -> tuple[RawSite, RawSite, RawSite] | None:
    """Return a ``train()``, the call that switches it off again, and what it was for.

    All in one run of a function, in this order: a helper evaluates in between.
    """
    trained = next(calls_in(history, call), call)  # knows the frames around
    parted = parting(switch.frames, trained.frames)
    own = [e for e in history.of(TrainingSwitched) if e.module == switch.module]
    before = [each for each in own if each.index < switch.index]
    back = before[-1].site if before and before[-1].training else None
    if parted is None or back is None or switch.site in parted:
        return None
    places = [spot(history, each) for each in (back, *parted)]
    sources = {id(each.source) for each in places if each is not None}
    first = places[0]
    if first is None or None in places or len(sources) > 1:
        return None
    source = first.source
    block = source.block(source.statement(first.node))
    inside = [source.statement_in(each.node, block) for each in places if each]
    lines = [each.lineno for each in inside if each is not None]
    in_order = len(lines) == 3 and lines[0] < lines[1] < lines[2]
    return (back, *parted) if in_order else None


def _called_from(
    history: History, switch: TrainingSwitched, step: Event
) -> tuple[RawSite | None, RawSite] | None:
    """Return who switches back, and the line of the training that called the eval().

    Only where the program does switch back, later than it should: then a helper that
    evaluates was called in the middle. Else the helper itself is to do it.
    """
    own = [e for e in history.of(TrainingSwitched) if e.module == switch.module]
    off = next(each.index for each in own if not each.training)
    back = next((each for each in own if each.training and each.index > off), None)
    if step.site is None or switch.site is None:
        return None
    training = _callers(history).get(step.site[0], {step.site[0]})
    within = switch.site[0] in training
    way = next((site for site in switch.stack if site[0] in training), None)
    return None if back is None or way is None or within else (back.site, way)


@learning.once
def _callers(history: History) -> dict[CodeType, set[CodeType]]:
    """Return, for each function, those that it was called from when it was met first.

    Steps know their line alone: who called it, another event of the same knows.
    """
    found: dict[CodeType, set[CodeType]] = {}
    for event in history.events:
        codes = [site[0] for site in event.frames]
        for place, code in enumerate(codes[:-1]):
            if code not in found:
                found[code] = set(codes[place:])
    return found


def _once_before(
    history: History, switch: TrainingSwitched, call: ModuleCall
) -> RawSite | None:
    """Return the ``train()`` that stands right before the loop in which all happens."""
    trained = next(calls_in(history, call), call)  # knows the frames around
    for event in history.of(TrainingSwitched):
        if event.index > switch.index or not event.training or event.site is None:
            continue
        where = spot(history, event.site)
        after = None if where is None else where.source.following(where.node)
        if event.module == switch.module and isinstance(after, ast.For | ast.While):
            file, lines = event.site[0].co_filename, (after.lineno, after.end_lineno)
            if all(
                any(_is_in(site, file, lines) for site in each.frames)
                for each in (switch, trained)
            ):
                return event.site
    return None


def _is_in(site: RawSite | None, file: str, lines: tuple[int, int | None]) -> bool:
    if site is None or site[0].co_filename != file:
        return False
    return lines[0] <= line_of(site)[1] <= (lines[1] or lines[0])


def _modal(history: History, module: Module, learns: set[int]) -> list[Module]:
    """Return the parts of a module that behave differently in training.

    Those whose parameters are all frozen by then may stay as they are.
    """
    own = set(module.parameters.values())
    frozen = bool(own) and not own & learns
    named = any(word in module.kind for word in _MODAL)
    found = [module] if named and not frozen else []
    rows = map(history.program.modules.get, module.children.values())
    for child in filter(None, rows):
        found += _modal(history, child, learns)
    return found
