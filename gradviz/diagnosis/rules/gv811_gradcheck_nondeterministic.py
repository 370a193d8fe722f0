"""GV811: gradcheck of a function that draws random numbers.

What it does
    Finds checks that failed while the function drew random numbers, with the line.
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

from collections.abc import Iterator

from gradviz.dependence.draws import draws
from gradviz.dependence.op_families import numbers_in
from gradviz.diagnosis.random_draws import foreign_draw, function_of_call
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules.gv810_gradcheck_float32 import failed_checks
from gradviz.program import Call, History, RawSite


@rule("GV811", "gradcheck-nondeterministic", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the draws inside of failed checks."""
    for call in failed_checks(history):
        site, line = _draw(history, call)
        if site is None:
            continue
        yield Hit(
            f"{call.op} runs the function many times, but line "
            f"{line or history.places.line(site)} draws random numbers, or counts: "
            f"every run gives another result, so no derivative can fit.",
            culprit=site,
            line=line,
            fix="Switch the randomness off (`eval()`, `p=0`) or draw the noise once, "
            "outside of the function that is checked.",
            symptom=call.site,
            related=(Related("checked here", call.site),),
            explains=True,
            certainty=0.9,
        )


def _draw(history: History, check: Call) -> tuple[RawSite | None, int | None]:
    inside, calls = {check.index}, list[Call]()
    for call in history.calls:
        if call.within in inside:
            inside.add(call.index)
            calls.append(call)
            if draws(call):
                return call.site, None
    site, line = foreign_draw(history, function_of_call(check))
    if site is None:
        site = _changing(calls)
    if site is None and "not reentrant" in (check.error or ""):
        return _backward_draw(history)
    return site, line


def _changing(calls: list[Call]) -> RawSite | None:
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
    codes = {each.backward for each in history.program.functions if each.backward}
    for call in history.calls:
        if call.site is not None and call.site[0] in codes and draws(call):
            return call.site, None
    for code in codes:
        site, line = foreign_draw(history, code, also=("torch",))
        if site is not None:
            return site, line
    return None, None
