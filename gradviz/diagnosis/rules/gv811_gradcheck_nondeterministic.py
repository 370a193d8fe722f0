"""GV811: gradcheck of a function that draws random numbers.

What it does
    Finds checks that failed while the function drew random numbers, with the line. If a
    flag or a layer's mode can switch the draw off, that is the line that checks.
Why is this bad
    ``gradcheck`` calls the function many times and compares the results; another draw
    in each call makes any derivative look wrong.
Example
    ``gradcheck(lambda x: torch.dropout(x, 0.5, True), (x,))``
Use instead
    ``eval()`` or fixed noise, drawn once outside of the function.
When it stays quiet
    The function draws nothing, or the check passed.
References
    The documentation of ``gradcheck``, ``nondet_tol``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.dependence.draws import draws
from gradviz.dependence.nesting import by_function, within
from gradviz.dependence.op_families import numbers_in
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.decisions.switches import is_open, switched_by
from gradviz.diagnosis.random_draws import foreign_draw, function_of_call
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules.gv810_gradcheck_float32 import failed_checks
from gradviz.program import Call, History, RawSite


@rule("GV811", "gradcheck-nondeterministic", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the draws inside of failed checks."""
    for call in failed_checks(history):
        drawn = next(filter(draws, _inside(history, call)), None)
        site, line = (drawn.site, None) if drawn else _changing_line(history, call)
        if site is None:
            continue
        chosen = _chosen(history, drawn, call) if drawn else site
        yield Hit(
            f"{call.op} runs the function many times, but line "
            f"{line or history.places.line(site)} draws random numbers, or counts: "
            f"every run gives another result, so no derivative can fit.",
            culprit=chosen,
            line=line,
            fix="Switch the randomness off (`eval()`, `p=0`) or draw the noise once, "
            "outside of the function that is checked.",
            symptom=call.site,
            related=(
                Related("checked here", call.site),
                Related("drawn here", site if chosen != site else None),
            ),
            explains=True,
            certainty=0.9,
        )


def _inside(history: History, check: Call) -> Iterator[Call]:
    """Yield the calls that a check made, and those inside of them."""
    for call in within(history).get(check.index, ()):
        yield call
        yield from _inside(history, call)


def _chosen(history: History, drawn: Call, check: Call) -> RawSite | None:
    """Return where a draw was switched on: where it stands, if nothing else could.

    In the line of the check where the flag was left as it is by default, or where a
    layer draws that does so in training mode only.
    """
    module = module_around(history, drawn.module)
    if module is not None and "Dropout" in module.kind:
        return check.site
    where = spot(history, drawn.site, drawn.stack)
    decided = None if where is None else switched_by(where)
    if decided is None:
        return drawn.site
    if is_open(decided):
        return check.site
    return site_of(history, decided) or drawn.site


def _changing_line(history: History, check: Call) -> tuple[RawSite | None, int | None]:
    """Return a line that gives other numbers in each run without the engine."""
    site, line = foreign_draw(history, function_of_call(check))
    if site is None:
        site = _changing(_inside(history, check))
    if site is None and "not reentrant" in (check.error or ""):
        return _backward_draw(history)
    return site, line


def _changing(calls: Iterable[Call]) -> RawSite | None:
    """Return the line whose plain numbers are others in each run of the function.

    Lines that run more often than the first one are in a loop, where numbers change.
    """
    by_site: dict[RawSite | None, list[Call]] = {}
    for call in calls:
        by_site.setdefault(call.site, []).append(call)
    counts = [len(each) for each in by_site.values()]
    for site, found in by_site.items():
        numbers = {tuple(numbers_in(call)) for call in found}
        if len(found) == counts[0] and len(numbers) > 1:
            return site
    return None


def _backward_draw(history: History) -> tuple[RawSite | None, int | None]:
    """Return the draw in the backward of a Function of the user."""
    codes = [each.backward for each in history.program.functions if each.backward]
    for code in codes:
        for call in filter(draws, by_function(history).get(code, ())):
            return call.site, None
    found = (foreign_draw(history, code, also=("torch",)) for code in codes)
    return next((each for each in found if each[0] is not None), (None, None))
