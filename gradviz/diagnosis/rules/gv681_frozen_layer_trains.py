"""``train()`` of a model switches a frozen layer back that was to evaluate only.

What it does
    Finds batch norm layers whose parameters are frozen, which ``eval()`` of a part put
    in evaluation mode, and ``train()`` of the whole model in training mode again.

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
    evaluation mode before it runs; its parameters learn.

References
    https://github.com/pgniewko/gt-pyg/issues/112
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Call,
    History,
    Module,
    ModuleCall,
    RawSite,
    TrainingSwitched,
    Value,
)

_BATCH_NORM = ("batch_norm", "native_batch_norm")


@rule("GV681", "frozen-layer-trains", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that switches frozen layers back."""
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
    name = f"`{module.name}`" if module.name else f"a {module.kind}"
    return Hit(
        f"{name} is frozen, and {history.line(off.site)} put it in evaluation mode. "
        f"{history.quoted(on.site)} switches it back with the whole model: its "
        "parameters stay, and every batch changes its running mean and variance.",
        on.site,
        "Call `eval()` of the frozen part after each `train()` of the model, or "
        "override `train()` so that it keeps that part in evaluation mode.",
        symptom=used.site,
        related=(Related("put in evaluation mode here", off.site),),
        certainty=0.8,
    )
