"""A loss is computed, and no backward pass ever walks it.

What it does
    Finds single numbers with a graph that nothing takes, in every step or in every
    iteration of a loop but the last: the name was bound to another loss before anything
    read it, or is never read, or the sum was not bound to a name at all. A function may
    have returned it beside something else: ``x, kl = layer(x)``.

Why is this bad
    What this loss was to teach is never learnt, and the other losses hide it: training
    runs and the loss that is shown falls.

Example
    ::

        loss = F.cross_entropy(logits, labels)
        loss = 0.1 * features.pow(2).mean()
        loss.backward()

Use instead
    ::

        loss = F.cross_entropy(logits, labels)
        loss = loss + 0.1 * features.pow(2).mean()
        loss.backward()

When it stays quiet
    Anything reads the number, to print or to keep it; its name is ``_``; it reaches
    nothing that an optimizer steps; it happens once.

References
    https://docs.astral.sh/ruff/rules/unused-variable/
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from gradviz.dependence import learning
from gradviz.dependence.dropped import dropped
from gradviz.dependence.flow import Flow
from gradviz.dependence.stores import Lost, lost
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._terms import passes_of
from gradviz.program import Call, History, RawSite
from gradviz.text.places import package_of

_LEAST = 2  # times it happens
_WORDS = {
    "unbound": "nothing takes its result",
    "unread": "nothing reads `{name}`",
    "overwritten": "line {line} binds `{name}` anew before anything reads it",
    "last iteration": "each turn of the loop in line {line} overwrites `{name}`, so "
    "at most the loss of the last iteration is left",
}

_LOOKED = 8  # losses of a line, the last ones: a loop has one for each level

Place = tuple[str, tuple[RawSite | None, ...]]


@rule("GV342", "loss-left-out", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose losses nobody differentiates."""
    wanted, flow = learning.wanted(history), history.once(Flow)
    lines: dict[Place, list[Call]] = defaultdict(list)
    for call in dropped(history):
        lines[_place(call)].append(call)
    made = Counter(_place(call) for call in history.calls if lines and call.nodes)
    for place, calls in lines.items():
        if len(calls) < _LEAST or not history.backwards:
            continue
        site, how = _lost(history, place[1])
        behind = set[int]().union(
            *(flow.leaves(e.outputs[0], e.index + 1) for e in calls[-_LOOKED:])
        )
        behind &= learning.trained(history) if wanted is None else wanted
        if how is None or site is None or not behind:
            continue
        # The last value of a loop alone may be meant where there is one loop.
        again = wanted is not None and passes_of(history, history.backwards[-1]) > 1
        if again if how.fate == "last iteration" else len(calls) == made[place]:
            yield _hit(history, site, how, behind)


def _place(call: Call) -> Place:
    return call.op, call.frames


def _lost(
    history: History, around: Iterable[RawSite | None]
) -> tuple[RawSite | None, Lost | None]:
    """Return where a value is lost, by the function that made it or one it went to."""
    place: int | None = None
    for site in around:
        if site is None or package_of(site[0].co_filename):
            break
        how = lost(history.places, site, place)
        if how is None or how.fate != "returned":
            return site, how
        place = how.place
    return None, None


def _hit(history: History, site: RawSite, how: Lost, behind: set[int]) -> Hit:
    root = history.backwards[-1]
    what = _WORDS[how.fate].format(name=how.name, line=how.line)
    named = f"`{how.name}`" if how.name else "its result"
    fixes = {
        "last iteration": f"Add up over the iterations, from 0 before the loop: "
        f"`{how.name} = {how.name} + …`.",
        "overwritten": f"Add to it: `{how.name} = {how.name} + …`.",
    }
    fix = fixes.get(how.fate, f"Add {named} to the loss of {history.line(root.site)}.")
    at = None if how.line is None else history.places.at_line(site[0], how.line)
    kept = None if how.bound is None else history.places.at_line(site[0], how.bound)
    given = learning.given_gradients(history)
    over = how.fate == "overwritten"  # there it is lost, and that line is the odd one
    return Hit(
        f"`{history.text(site)}` computes a loss that is to train "
        f"{learning.listed(history, behind - given or behind)}, but {what}: no "
        "backward pass starts from it.",
        at if over else kept or site,
        fix,
        symptom=root.site,
        related=(Related("computed here", site) if over else Related("the loop", at),),
        tensors=tuple(sorted(behind)),
        certainty=0.7,
    )
