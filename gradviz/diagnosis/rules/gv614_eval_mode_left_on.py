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
    evaluation, is an information only.

References
    https://github.com/pytorch/tutorials/pull/1624
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.training import trained_again
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Backward,
    History,
    Module,
    ModuleCall,
    OptimizerCall,
    TrainingSwitched,
)

_MODAL = ("Dropout", "BatchNorm", "InstanceNorm", "RReLU", "LSTM", "GRU", "Transformer")

_BACK = "Call `.train()` before it."


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
    modal = _modal(history, module)
    inside = [
        each
        for each in history.of(ModuleCall)
        if call.index < each.index < (call.left or call.index)
        and each.module in {one.key for one in modal}
    ]
    if not modal or any(each.training for each in inside):
        return
    name = f"`{module.name}`" if module.name else f"the {module.kind}"
    kinds = sorted({each.kind for each in modal})
    behave = "behaves" if len(kinds) == 1 else "behave"
    yield Hit(
        f"{name} is in evaluation mode since `{history.text(switch.site)}` in "
        f"{history.line(switch.site)} and was trained so in "
        f"{history.line(call.site)}: {learning.joined(kinds)} in it {behave} as in "
        "evaluation.",
        switch.site,
        "Call `.train()` when the evaluation is over, or at the top of each epoch.",
        symptom=step.site,
        related=(Related("trained in evaluation mode", call.site, _BACK),),
        severity="warning" if sure else "info",
        edit=trained_again(switch.site, call.site),
        certainty=0.9 if sure else 0.5,
    )


def _modal(history: History, module: Module) -> list[Module]:
    """Return the parts of a module that behave differently in training.

    Those whose parameters are all frozen may stay as they are.
    """
    own = set(module.parameters.values())
    frozen = bool(own) and not own & learning.trained(history)
    named = any(word in module.kind for word in _MODAL)
    found = [module] if named and not frozen else []
    rows = map(history.program.modules.get, module.children.values())
    for child in filter(None, rows):
        found += _modal(history, child)
    return found
