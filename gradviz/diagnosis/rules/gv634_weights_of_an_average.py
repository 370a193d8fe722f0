"""An average of parameters moves away from them, or its two weights do not fit.

What it does
    Follows what each update makes of an average of parameters (a shadow, a teacher, a
    target network): so many times itself, and so many times the parameters. Finds those
    that move away from the parameters, whose two weights do not add up to 1, and those
    that keep next to nothing of themselves.

Why is this bad
    ``average + 0.01 * (average - parameter)`` makes the distance to the parameter 1 %
    larger with every update: it grows without bound, while the loss of the model itself
    falls. With 0.99 and 0.99 the average ends at 99 times the parameter; with 0.01 of
    itself and 0.99 of the parameter it is the parameter, and averages nothing.

Example
    ::

        average.add_((average - parameter) * 0.01)

Use instead
    ::

        average.sub_((average - parameter) * 0.01)

When it stays quiet
    Sums that are divided later, copies, updates that other values take part in,
    averages that an optimizer steps as well, and fewer than 8 updates.

References
    https://pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import (
    ADDITIONS,
    MULTIPLICATIONS,
    one_by_one,
    plain,
)
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, OptimizerCall, RawSite, Value

_LEAST = 8  # updates by one line
_OFF = 0.1  # how far from 1 what an average ends at may be
_COPIED = 0.95  # of the parameter, from which on it is a copy

_ADDED = {**dict.fromkeys(ADDITIONS, 1.0), "sub": -1.0, "isub": -1.0}
_DIVIDED = words("div truediv divide itruediv idiv")
_SAME = words("clone to float double half bfloat16 contiguous")

_Form = dict[int, float]
"""How many times the memory of others is in a tensor, as it was before the update."""


@dataclass(frozen=True, slots=True)
class _Update:
    """What one update made of an average."""

    call: Call  # that took the parameter in
    average: Value
    kept: float  # times itself
    taken: float  # times the parameters

    @property
    def end(self) -> float:
        """How many times the parameter it would come to, were that to stand still."""
        return self.taken / (1 - self.kept)


@rule("GV634", "weights-of-an-average", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose updates are all of the same wrong kind."""
    lines: dict[RawSite | None, list[_Update]] = defaultdict(list)
    for each in _updates(history):
        lines[each.call.site].append(each)
    for site, updates in lines.items():
        first = updates[0]
        if len(updates) < _LEAST or site is None:
            continue
        for tell in (_moves_away, _does_not_add_up, _copies):
            told = tell(first)
            if told is not None and all(tell(each) for each in updates):
                yield _hit(history, first, *told)
                break


def _moves_away(update: _Update) -> tuple[str, str, str] | None:
    if not (update.kept > 1 and update.taken < 0):
        return None
    grown, way = update.kept - 1, -update.taken
    return (
        "moves away from the parameter that it averages",
        f"The distance grows by {100 * grown:.2g} % in each update, without bound.",
        f"Subtract the difference: {_sum_of(1 - way, way)}.",
    )


def _does_not_add_up(update: _Update) -> tuple[str, str, str] | None:
    is_mean = 0 < update.kept < 1 and update.taken > 0
    if not is_mean or abs(update.end - 1) < _OFF:
        return None
    return (
        f"tends to {update.end:.3g} times the parameter that it averages",
        f"The two weights add up to {update.kept + update.taken:.4g}, not to 1.",
        f"Let the weights add up to 1: {_sum_of(update.kept, 1 - update.kept)}.",
    )


def _copies(update: _Update) -> tuple[str, str, str] | None:
    if not (0 < update.kept < 1 and _COPIED <= update.taken < 1):
        return None
    return (
        "averages nothing: each update makes it almost a copy of the parameter",
        f"Only {100 * update.kept:.2g} % of the average is kept.",
        f"Exchange the two weights: {_sum_of(update.taken, update.kept)}.",
    )


def _sum_of(kept: float, taken: float) -> str:
    return f"{kept:.4g} * average + {taken:.4g} * parameter"


def _updates(history: History) -> Iterator[_Update]:
    """Yield what became of each average between two steps of the optimizers."""
    wanted, owners = learning.wanted(history), learning.by_memory(history)
    live = {key for key, of in owners.items() if wanted and not of.isdisjoint(wanted)}
    forms = dict[int, _Form | None]()
    taken = dict[int, Call]()
    for event in history.events if live else ():
        if isinstance(event, OptimizerCall) and event.what == "step":
            yield from _ended(forms, taken, live)
            forms, taken = {}, {}
        elif isinstance(event, Call) and not _learns(event):
            for call in one_by_one(event):
                _follow(call, forms, taken, live)
    yield from _ended(forms, taken, live)


def _learns(call: Call) -> bool:
    return call.grad_enabled and any(each.requires_grad for each in call.outputs)


def _ended(
    forms: dict[int, _Form | None], taken: dict[int, Call], live: set[int]
) -> Iterator[_Update]:
    for storage, call in taken.items():
        form = forms.get(storage)
        if form and form.keys() <= live | {storage}:
            others = sum(times for key, times in form.items() if key != storage)
            kept = form.get(storage, 0.0)
            if others and kept:
                value = next(e.value for e in call.writes if e.storage == storage)
                yield _Update(call, value, kept, others)


def _follow(
    call: Call, forms: dict[int, _Form | None], taken: dict[int, Call], live: set[int]
) -> None:
    """Note what a call makes of the memory of its operands."""
    written = [each.storage for each in call.writes]
    made = written or [
        each.storage
        for each in call.outputs
        if all(each.storage != one.storage for one in call.inputs)
    ]
    made = [each for each in made if each not in live]  # that is what it is
    form = _combined(call, forms) if len(made) == 1 else None
    forms.update(dict.fromkeys(made, form))
    if written and form and not live.isdisjoint(form):
        taken.setdefault(made[0], call)


def _combined(call: Call, forms: dict[int, _Form | None]) -> _Form | None:
    """Return the result of a call by the memory it is a sum of; None if it is none."""
    name = plain(call.op)
    first, second, third = (*call.arguments, None, None, None)[:3]
    if name in _ADDED:
        times = _number(call.keywords.get("alpha", 1))
        parts = [(first, 1.0), (second, times and _ADDED[name] * times)]
    elif name == "rsub":
        parts = [(first, -1.0), (second, 1.0)]
    elif name in MULTIPLICATIONS:
        value, number = (first, second) if isinstance(first, Value) else (second, first)
        parts = [(value, _number(number))]
    elif name in _DIVIDED:
        divisor = _number(second)
        parts = [(first, divisor and 1 / divisor)]
    elif name == "lerp":
        weight = _number(call.keywords.get("weight", third))
        parts = [(first, None if weight is None else 1 - weight), (second, weight)]
    elif name == "copy":
        parts = [(second, 1.0)]
    elif name in _SAME or name == "neg":
        parts = [(first, -1.0 if name == "neg" else 1.0)]
    else:
        return None
    return _sum(parts, forms)


def _sum(
    parts: Iterable[tuple[Any, float | None]], forms: dict[int, _Form | None]
) -> _Form | None:
    """Add up values, each so many times."""
    total: _Form = defaultdict(float)
    for value, times in parts:
        if not isinstance(value, Value) or times is None:
            return None
        form = forms.get(value.storage, {value.storage: 1.0})
        if form is None:
            return None
        for storage, share in form.items():
            total[storage] += times * share
    return dict(total)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _hit(history: History, update: _Update, effect: str, why: str, fix: str) -> Hit:
    call = update.call
    name = history.name(update.average, "The average of parameters")
    sign = "-" if update.taken < 0 else "+"
    return Hit(
        f"{name} {effect}. {why} {history.quoted(call.site)} computes "
        f"{update.kept:.4g} * average {sign} {abs(update.taken):.4g} * parameter.",
        call.site,
        _turned(history, update) or fix,
        related=(Related("average created here", _made_at(history, update)),),
        tensors=(update.average.tensor,),
        certainty=0.9,
    )


def _turned(history: History, update: _Update) -> str:
    """Return the update that moves away, with its one sign turned round."""
    text, line = history.text(update.call.site), history.line(update.call.site)
    away = update.kept > 1 and "mul" not in text
    if away and text.count(".add_(") == 1 and plain(update.call.op) == "add":
        return f"Write `{text.replace('.add_(', '.sub_(')}` in {line}."
    return ""


def _made_at(history: History, update: _Update) -> RawSite | None:
    made = history.producer(update.average.tensor)
    return None if made is None else made.site
