"""A backward pass goes into a copy of the model, which only gives targets.

What it does
    Finds modules whose parameters are written from others', as those of a target
    network or a moving average are, and get gradients that nobody uses, but perhaps to
    show a norm of them.

Why is this bad
    What a copy gives is a target: a constant. With its graph, every pass walks both
    models, and where the two share a part, that part learns to move the target.

Example
    ::

        best = target_net(next_state).max(dim=1).values
        loss = F.mse_loss(q_net(state), reward + gamma * best)

Use instead
    ::

        with torch.no_grad():
            best = target_net(next_state).max(dim=1).values

When it stays quiet
    Copies that an optimizer has, whose gradients the program reads, or that it updates
    by hand; frozen ones; a single pass; what is copied once, as into a new layer. Where
    the copy is fed with data alone, its gradients are a waste that changes nothing, and
    this is an information, unless the program shows their norm while they pile up.

References
    Mnih et al., 2015, Human-level control through deep reinforcement learning.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.nesting import calls_in
from gradviz.diagnosis.edits.leaves import value_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import passes_into, unstepped
from gradviz.diagnosis.rules._loop_helpers import read_gradients, used_gradients
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import (
    Backward,
    History,
    Module,
    ModuleCall,
    OptimizerCall,
    RawSite,
)

_LEAST = 2  # passes into the copy


@rule("GV646", "gradient-into-a-copy", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that calls such a copy with its graph."""
    idle = learning.copies(history) & unstepped(history) - used_gradients(history)
    if not idle or not learning.managed(history):
        return
    shown = idle & read_gradients(history) - _cleared(history)
    told = set[RawSite | None]()
    known: dict[int, list[Backward]] = {}  # passes into a copy, by module
    for call in history.of(ModuleCall):
        module = history.program.modules.get(call.module)
        if module is None or call.parent is not None or not call.grad_enabled:
            continue
        if module.key not in known:
            known[module.key] = _wasted(history, module, idle)
        passes = known[module.key]
        if passes and call.site not in told:
            own = learning.all_parameters(history, module)
            told.add(call.site)
            name = f"`{module.name}`" if module.name else f"the {module.kind}"
            yield Hit(
                f"{name} is a copy: its parameters are written from another model's, "
                f"and no optimizer has them. Yet {history.quoted(call.site)} keeps its "
                f"graph, and {len(passes)} backward passes computed gradients for it "
                "that nothing uses.",
                call.site,
                "Compute targets under `torch.no_grad()`, or `.detach()` them.",
                symptom=passes[0].site,
                related=(Related("created here", made_at(history, min(own))),),
                tensors=tuple(sorted(own)),
                edit=value_followed_by(call.site, ".detach()"),
                severity=None if own & shown or _is_fed(history, call, own) else "info",
                certainty=0.6,
            )


def _cleared(history: History) -> set[int]:
    """Return the tensors whose gradients ``zero_grad()`` clears; others pile up."""
    events = (e for e in history.of(OptimizerCall) if e.what == "zero_grad")
    return {state.tensor for each in events for state in each.states}


def _is_fed(history: History, around: ModuleCall, own: set[int]) -> bool:
    """Whether what a copy is given has a graph: then that learns to move the target."""
    inside = list(calls_in(history, around))
    made = {value.tensor for call in inside for value in call.outputs}
    return any(
        value.requires_grad and value.tensor not in made and value.tensor not in own
        for call in inside
        for value in call.inputs
    )


def _wasted(history: History, module: Module, idle: set[int]) -> list[Backward]:
    """Return the passes into a copy that is kept up, if this is one."""
    own = learning.all_parameters(history, module)
    if not own or not own <= idle:
        return []
    passes = passes_into(history, own)
    kept_up = len(passes) >= _LEAST and _is_kept_up(history, own, passes[0])
    return passes if kept_up else []


def _is_kept_up(history: History, own: set[int], first: Backward) -> bool:
    """Return whether a copy was written after a pass: what replaces a layer is not."""
    seen = learning.last_seen(history)
    return any(history.writes(seen[each].storage, after=first.index) for each in own)
