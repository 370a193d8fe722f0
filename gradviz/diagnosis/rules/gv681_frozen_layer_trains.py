"""``train()`` of a model switches a frozen layer back that was to evaluate only.

What it does
    Finds batch norm layers whose parameters are frozen, which ``eval()`` of a part put
    in evaluation mode, and ``train()`` of the whole model in training mode again. Finds
    those, too, that learnt and were frozen, and run in training mode for a new head,
    where another that learnt with them before is evaluated afterwards.

Why is this bad
    ``requires_grad_(False)`` keeps parameters, not running statistics: in training mode
    every batch changes them, and the frozen part gives other features than it was
    trained to give. Nothing fails.

Example
    ::

        backbone.requires_grad_(False).eval()
        for epoch in range(10):
            model.train()

Use instead
    ::

        for epoch in range(10):
            model.train()
            backbone.eval()

When it stays quiet
    The whole model was evaluated, and is trained again; the part is put back in
    evaluation mode before it runs; its parameters learn, or its statistics are given
    back; a frozen part whose new head alone is used, as it was trained with these.

References
    https://github.com/pgniewko/gt-pyg/issues/112
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradviz.dependence import learning
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Call,
    Event,
    History,
    Module,
    ModuleCall,
    RawSite,
    TrainingSwitched,
    Value,
)

_BATCH_NORM = ("batch_norm", "native_batch_norm")
_LEAST = 2  # batches


@rule("GV681", "frozen-layer-trains", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that lets frozen layers train."""
    yield from _switched_back(history)
    yield from _moved(history)


def _switched_back(history: History) -> Iterator[Hit]:
    switches = _Switches()
    told = set[RawSite | None]()
    for event in history.events:
        if isinstance(event, TrainingSwitched):
            switches.note(event)
        elif isinstance(event, Call) and event.op in _BATCH_NORM:
            around = history.at(event.module)
            if not isinstance(around, ModuleCall) or not around.training:
                continue
            module = history.program.modules.get(around.module)
            by = switches.undone.get(around.module)
            if module is None or by is None or by[1].site in told:
                continue
            if _is_frozen(event):
                told.add(by[1].site)
                yield _hit(history, module, event, *by)


class _Switches:
    """Who put a part in evaluation mode, and who switched it back with all the rest."""

    def __init__(self) -> None:
        self.undone = dict[int, tuple[TrainingSwitched, TrainingSwitched]]()
        self._off = dict[int, TrainingSwitched]()

    def note(self, event: TrainingSwitched) -> None:
        for key in {event.module, *event.changed}:
            off = self._off.get(key)
            if not event.training:
                self._off[key] = event
                self.undone.pop(key, None)
            elif off is not None and event.module not in (off.module, *off.changed):
                self.undone[key] = self._off.pop(key), event


@dataclass(slots=True)
class _Moving:
    """A frozen layer that learnt before, while batches change its statistics."""

    module: Module
    statistics: set[int]
    by: TrainingSwitched | None  # who put it in training mode
    calls: list[Call] = field(default_factory=list[Call])


class _Statistics:
    """Follows the running statistics of frozen layers, and who was trained when."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.moving = dict[int, _Moving]()
        self.trained = dict[int, int]()  # module -> its last call in training mode
        self._on = dict[int, TrainingSwitched]()
        self._owner = dict[int, int]()  # memory of statistics -> module

    def note(self, event: Event) -> None:
        if isinstance(event, TrainingSwitched) and event.training:
            self._on.update(dict.fromkeys((event.module, *event.changed), event))
        elif isinstance(event, ModuleCall) and event.training:
            self.trained[event.module] = event.index
        elif isinstance(event, Call) and event.op in _BATCH_NORM:
            around = self.history.at(event.module)
            if isinstance(around, ModuleCall) and around.training:
                self._train(event, around.module)
        elif isinstance(event, Call):  # they may be given back
            for write in event.writes:
                self.moving.pop(self._owner.get(write.storage, -1), None)

    def _train(self, call: Call, key: int) -> None:
        module = self.history.program.modules.get(key)
        statistics = [v for v in call.arguments[1:3] if isinstance(v, Value)]
        learnt = learning.given_gradients(self.history)
        if module is None or not learnt.intersection(module.parameters.values()):
            return
        if not _is_frozen(call):
            self.moving.pop(key, None)
        elif statistics:
            own = {each.tensor for each in statistics}
            row = _Moving(module, own, self._on.get(key))
            self.moving.setdefault(key, row).calls.append(call)
            self._owner.update((each.storage, key) for each in statistics)

    def misled(self, call: Call) -> Iterator[_Moving]:
        """Yield the layers whose changed statistics a layer meets that knows the old.

        It learnt with them, and was not there while they changed.
        """
        around = self.history.at(call.module)
        if not self.moving or not isinstance(around, ModuleCall) or around.training:
            return
        weights = {value.tensor for value in call.inputs if value.is_parameter}
        last = self.trained.get(around.module)
        if last is None or not weights & learning.given_gradients(self.history):
            return
        since = [e for e in self.moving.values() if last < e.calls[0].index]
        met = self.history.behind(call.inputs, call.index) if since else set[int]()
        for row in since:
            used = {
                v.tensor for v in row.calls[0].arguments[1:3] if isinstance(v, Value)
            }
            if used & met and len(row.calls) >= _LEAST:
                yield row


def _moved(history: History) -> Iterator[Hit]:
    """Yield a hit per line that lets a new head's batches change an old one's trunk."""
    statistics = _Statistics(history)
    told = set[RawSite | None]()
    for event in history.events:
        statistics.note(event)
        if not isinstance(event, Call):
            continue
        rows = [*statistics.misled(event)]
        for row in rows:
            freezing = learning.freezing(history, min(row.module.parameters.values()))
            by = row.by or freezing
            site = by.site if by is not None else None
            if site is not None and site not in told:
                told.add(site)
                alike = [each for each in rows if each.by is row.by]
                yield _of_another_head(history, alike, site, event)


def _of_another_head(
    history: History, alike: list[_Moving], site: RawSite, used: Call
) -> Hit:
    row = alike[0]
    part = _frozen_around(history, row.module)
    layers = "its BatchNorm layer" if len(alike) == 1 else "its BatchNorm layers"
    if part is row.module:
        layers = "it"
    name = f"`{part.name}`" if part.name else f"a {part.kind}"
    head = module_around(history, used.module)
    other = f"`{head.name}`" if head is not None and head.name else "another layer"
    on = "leaves it" if row.by is None else "puts it"
    return Hit(
        f"{name} is frozen, and {history.quoted(site)} {on} in training mode: "
        f"{len(row.calls)} batches changed the running mean and variance of {layers}. "
        f"{other} learnt with the old ones, and is evaluated with the new ones.",
        site,
        f"Call {_eval_of(history, part, row.by)} after "
        f"{'the part is frozen' if row.by is None else history.line(site)}, before the "
        "new part is trained.",
        symptom=used.site,
        related=(Related("trained here", row.calls[-1].site),),
        certainty=0.8,
    )


def _frozen_around(history: History, module: Module) -> Module:
    """Return the largest part with a name around a layer that does not learn at all."""
    seen, found = learning.last_seen(history), module
    for each in learning.around(history, min(module.parameters.values())):
        inside = learning.all_parameters(history, each)
        if any(key in seen and seen[key].requires_grad for key in inside):
            break
        found = each if each.name else found
    return found


def _eval_of(history: History, part: Module, by: TrainingSwitched | None) -> str:
    """Return the call of ``eval`` of a part: "`model.trunk.eval()`"."""
    whole = None if by is None else history.program.modules.get(by.module)
    receiver, dot, _ = history.text(by and by.site).rpartition(".train(")
    if whole is None or not dot or not part.name or whole is part:
        return "`eval()` of it"
    path = part.name.removeprefix(f"{whole.name}.")
    inner = all(each.isidentifier() or each.isdigit() for each in path.split("."))
    if not inner or path.split(".")[0] not in whole.children:
        return f"`eval()` of `{part.name}`"
    spelt = "".join(f"[{e}]" if e.isdigit() else f".{e}" for e in path.split("."))
    return f"`{receiver}{spelt}.eval()`"


def _is_frozen(call: Call) -> bool:
    given = (call.keywords.get("weight"), *call.arguments[3:4])
    weights = [each for each in given if isinstance(each, Value)]
    return bool(weights) and not any(each.requires_grad for each in weights)


def _hit(
    history: History,
    module: Module,
    used: Call,
    off: TrainingSwitched,
    on: TrainingSwitched,
) -> Hit:
    part = history.program.modules.get(off.module)
    module = part if part is not None and part.name else module
    name = f"`{module.name}`" if module.name else f"a {module.kind}"
    return Hit(
        f"{name} is frozen, and {history.line(off.site)} put it in evaluation mode. "
        f"{history.quoted(on.site)} switches it back with the whole model: its "
        "parameters stay, and every batch changes its running mean and variance.",
        on.site,
        f"Call {_eval_of(history, module, on)} after each `train()` of the model, or "
        "override `train()` so that it keeps that part in evaluation mode.",
        symptom=used.site,
        related=(Related("put in evaluation mode here", off.site),),
        certainty=0.8,
    )
