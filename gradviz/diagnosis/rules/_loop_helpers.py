"""Optimizers with their schedulers and scalers: who stepped, and with what."""

from __future__ import annotations

import ast
from bisect import bisect
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradviz.dependence import learning
from gradviz.dependence.flow import name_of, words
from gradviz.diagnosis.rules._gradients import gradient_reads, is_failed
from gradviz.diagnosis.rules._lifetime import first_difference
from gradviz.program import (
    Backward,
    Call,
    Event,
    History,
    Optimizer,
    OptimizerCall,
    RawSite,
    ScalerCall,
    ScheduleCall,
    Value,
)

_FEW = 3  # steps of an optimizer
_MEASURING = words(
    "norm vector_norm linalg_vector_norm linalg_norm abs square pow sum mean std var "
    "max min amax amin sqrt isnan isfinite isinf any all stack cat detach cpu flatten "
    "view reshape float item tolist numpy format bool repr len"
)


@learning.once
def moves(history: History) -> dict[int, list[Event]]:
    """Return the steps of each optimizer, those that a scaler skipped included."""
    found: dict[int, list[Event]] = {}
    for event in history.events:
        if isinstance(event, OptimizerCall | ScalerCall) and event.what == "step":
            assert event.optimizer is not None
            found.setdefault(event.optimizer, []).append(event)
    return found


@learning.once
def ever_stepped(history: History) -> set[int]:
    """Return the optimizers that stepped, also where the log has lost all of it."""
    return moves(history).keys() | history.program.stepped


@learning.once
def schedules(history: History) -> dict[int, list[ScheduleCall]]:
    """Return what each scheduler did, in order."""
    found: dict[int, list[ScheduleCall]] = {}
    for event in history.of(ScheduleCall):
        found.setdefault(event.scheduler, []).append(event)
    return found


def outpacing(history: History, steps: list[ScheduleCall]) -> str:
    """Return how often a schedule goes on between two steps of its optimizer.

    "" where it does not go on more often. Else "runs 240 times while line 86 lets the
    optimizer step 60 times: the schedule is used up too early".
    """
    made = moves(history).get(steps[0].optimizer, []) if steps else []
    at = [bisect(steps, each.index, key=lambda step: step.index) for each in made]
    gaps = [then - first for first, then in pairwise(at)]
    if len(gaps) < _FEW or min(gaps) < 2 or len({each.site for each in steps}) > 1:
        return ""
    return (
        f"runs {len(steps):,} times while {history.line(made[0].site)} lets the "
        f"optimizer step {len(made):,} times: the schedule is used up too early"
    )


def made_anew_at(history: History, first: Optimizer, then: Optimizer) -> RawSite | None:
    """Return the line that made another optimizer: in a helper, who called it again."""
    one, other = (history.at(each.made) for each in (first, then))
    return first_difference(other, one) if one and other else then.site


def rate_words(rates: tuple[float, ...]) -> str:
    """Return "0.1", or "0.1 and 0.01" of several groups.

    >>> rate_words((0.1, 0.1)), rate_words((0.1, 0.01))
    ('0.1', '0.1 and 0.01')
    """
    return learning.joined(dict.fromkeys(f"{rate:.3g}" for rate in rates))


def optimizer_words(history: History, key: int) -> str:
    """Return "`opt` (line 7)", or "the SGD (line 7)" of one without a name."""
    row = history.program.optimizers.get(key)
    if row is None:
        return "the optimizer"
    name = f"`{row.name}`" if row.name else f"the {row.kind}"
    return f"{name} ({history.line(row.site)})" if row.site else name


@learning.once
def read_gradients(history: History) -> set[int]:
    """Return the leaves whose ``.grad`` the program reads."""
    return {call.inputs[0].tensor for call in gradient_reads(history)}


@learning.once
def used_gradients(history: History) -> set[int]:
    """Return the leaves whose ``.grad`` goes into more than numbers that are shown."""
    known: dict[int, bool] = {}
    return {
        call.inputs[0].tensor
        for call in gradient_reads(history)
        if not all(_is_measured(history, each, known) for each in call.outputs)
    }


def _is_measured(history: History, value: Value, known: dict[int, bool]) -> bool:
    """Tell whether all that is made of a tensor is a norm, a mean or the like."""
    if value.tensor not in known:
        known[value.tensor] = True  # of what leads back here, the others decide
        known[value.tensor] = all(
            name_of(use) in _MEASURING
            and all(_is_measured(history, each, known) for each in use.outputs)
            for use in history.uses(value.tensor)
        )
    return known[value.tensor]


def wasted_passes(
    history: History, optimizer: Optimizer, keys: Collection[int]
) -> list[Backward]:
    """Return the passes whose gradients were cleared, or met a scheduler, unused.

    ``keys`` are the optimizers whose events count; 0 is ``Module.zero_grad()``.
    """
    found: list[Backward] = []
    fresh: Backward | None = None
    for event in history.events:
        if isinstance(event, Backward) and not is_failed(event):
            if event.api == "backward" and set(event.leaves) & set(optimizer.tensors):
                fresh = event
        elif (
            isinstance(event, OptimizerCall | ScheduleCall)
            and event.optimizer in keys
            and event.what != "init"
            and fresh is not None
        ):
            found.append(fresh)
            fresh = None
    return found


@learning.once
def misplaced(history: History) -> dict[RawSite, int]:
    """Return the steps that stand where another optimizer, which never steps, should.

    By line, with that optimizer. Each follows a pass for the other's parameters, and
    the stepping one has a line of its own, behind passes that are not for these.
    """
    stepped, last = ever_stepped(history), None
    idle = [o for o in history.program.optimizers.values() if o.key not in stepped]
    behind: dict[int, dict[RawSite, list[Backward | None]]] = {}
    for event in history.events if idle else ():
        if isinstance(event, Backward) and event.api == "backward":
            last = event
        elif isinstance(event, OptimizerCall) and event.what == "step" and event.site:
            passes = behind.setdefault(event.optimizer, {})
            passes.setdefault(event.site, []).append(last)
            last = None
    found: dict[RawSite, int] = {}
    for other in idle:
        for lines in behind.values():
            for_it = {site: _reaching(other, passes) for site, passes in lines.items()}
            if not all(for_it.values()) and len(for_it) > 1:
                at = (s for s, each in for_it.items() if each and len(lines[s]) > 1)
                found.update(dict.fromkeys(at, other.key))
    return found


def _reaching(optimizer: Optimizer, passes: list[Backward | None]) -> bool:
    """Tell whether each of these passes reached parameters of an optimizer."""
    mine = set(optimizer.tensors)
    return all(each is not None and mine.intersection(each.leaves) for each in passes)


def or_uncalled(
    history: History, site: RawSite | None, method: str
) -> tuple[RawSite | None, int | None, str]:
    """Return a site, or else the line that names a method and does not call it.

    With the line comes a sentence about it: ``optimizer.step`` alone does nothing.
    """
    for each in history.places.in_file(site):
        match each:
            case ast.Expr(ast.Attribute(_, name)) if name == method and site:
                line, text = each.lineno, f"`{ast.unparse(each)}`"
                slip = f" {text} in line {line} lacks its parentheses."
                return history.places.at_line(site[0], line), line, slip
            case _:
                pass
    return site, None, ""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A step or a clipping that met gradients nobody had unscaled."""

    event: OptimizerCall | Call
    scale: ScalerCall

    @property
    def times(self) -> str:
        """Return "65,536 times"."""
        scale = self.scale.scale
        return "many times" if scale is None else f"{scale:,.0f} times"


@learning.once
def meetings(history: History) -> list[Scaled]:
    """Return the steps and clippings that met scaled gradients, in order."""
    return list(_meetings(history))


def _meetings(history: History) -> Iterator[Scaled]:
    scaling: dict[int, ScalerCall] = {}  # tensor -> which scale() returned it
    leaves: dict[int, ScalerCall] = {}  # whose gradients are scaled
    for event in history.events:
        if isinstance(event, ScalerCall):
            scaling.update((value.tensor, event) for value in event.scaled)
            _forget(leaves, history, event.optimizer)
        elif isinstance(event, Backward) and scaling and event.api == "backward":
            behind = {root.tensor for root in event.roots}
            behind |= history.behind(event.roots, event.index)
            for tensor in behind & scaling.keys():
                leaves.update(dict.fromkeys(event.leaves, scaling[tensor]))
                break
        elif isinstance(event, OptimizerCall) and leaves:
            mine = [each.tensor for each in event.states if each.has_grad]
            met = [leaves[key] for key in mine if key in leaves]
            if met and event.what == "step":
                yield Scaled(event, met[0])
            for key in mine:
                leaves.pop(key, None)
        elif isinstance(event, Call) and leaves and event.op.startswith("clip_grad"):
            met = [leaves[v.tensor] for v in event.inputs if v.tensor in leaves]
            if met:
                yield Scaled(event, met[0])


def _forget(
    leaves: dict[int, ScalerCall], history: History, optimizer: int | None
) -> None:
    """Take out the parameters of an optimizer whose gradients a scaler unscales."""
    row = history.program.optimizers.get(optimizer or 0)
    for tensor in row.tensors if row is not None else ():
        leaves.pop(tensor, None)
