"""From a cut to a hit: whether to speak, how loudly, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.cuts import Cut, Kind, cuts, is_dead
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.rule import Hit, Related, Rule, Severity
from gradviz.diagnosis.rules._lifetime import none_ended_run
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.diagnosis.rules._terms import term_cuts
from gradviz.program import History, RawSite, following


@dataclass(frozen=True, slots=True)
class Words:
    """What one kind of cut did, where, and what to write instead."""

    what: str  # a sentence; whose gradient is lost stands before it
    fix: str
    culprit: RawSite | None
    line: int | None = None
    related: tuple[Related, ...] = ()
    edit: Remedy | None = None


def cut_rule(
    code: str, slug: str, *kinds: Kind
) -> Callable[[Callable[[History, Cut], Words | None]], Rule]:
    """Make a rule of the words for cuts of these kinds: it finds those that matter.

    There are none for a cut that is meant, where another one is to blame.
    """

    def of(words: Callable[[History, Cut], Words | None]) -> Rule:
        def check(history: History) -> Iterator[Hit]:
            for cut in (*cuts(history), *term_cuts(history)):
                if (
                    cut.kind in kinds
                    and not is_hack(cut)
                    and not _is_fair(history, cut)
                ):
                    severity, lost = _weight(history, cut)
                    said = words(history, cut) if lost else None
                    if said is not None:
                        yield make(history, cut, said, severity, lost)

        return Rule(code, slug, "warning", check)

    return of


def _is_fair(history: History, cut: Cut) -> bool:
    """Return whether a pass was for another optimizer, and a later one is to blame.

    A discriminator learns from detached samples; the generator's own pass is its own.
    """
    return _is_anothers(history, cut) and any(
        other.lost & cut.lost
        for other in cuts(history)
        if other.backward.site != cut.backward.site and not _is_anothers(history, other)
    )


def _is_anothers(history: History, cut: Cut) -> bool:
    """Return whether the next step is one of an optimizer that has nothing of a cut."""
    steps = following(learning.steps(history), cut.backward.index)
    row = history.program.optimizers.get(steps[0].optimizer) if steps else None
    return row is not None and not cut.lost & set(row.tensors)


def is_hack(cut: Cut) -> bool:
    """Return whether a root that had lost its graph was made to require grad."""
    return is_new_leaf(cut) and cut.kind != "copy"  # a copy is the mistake itself


def is_new_leaf(cut: Cut) -> bool:
    """Return whether the root of a pass is a leaf that was computed from others."""
    return cut.dead and any(root.requires_grad for root in cut.backward.roots)


def make(
    history: History,
    cut: Cut,
    words: Words,
    severity: Severity,
    lost: Collection[int],
) -> Hit:
    """Return the hit for a cut, with the numbers and places that go with it."""
    source = cut.crossings[0].source
    maker = history.producer(source, before=cut.call.index)
    related = list(words.related)
    apart = maker is not None and not same_line(maker.site, words.culprit)
    if apart and maker is not None and not source.is_leaf:
        related.append(Related("still had a graph here", maker.site))
    explains = history.ended_by(cut.backward) or bool(_missed(history, cut))
    return Hit(
        message=f"{_consequence(history, cut, lost)} {words.what}",
        culprit=words.culprit,
        fix=words.fix,
        symptom=cut.backward.site,
        related=tuple(related),
        nodes=() if source.node is None else (source.node,),
        tensors=tuple(sorted(lost)),
        severity=severity,
        explains=explains,
        line=words.line,
        edit=words.edit,
        certainty=0.6 if _is_usual(history, cut) else _certainty(history, cut, lost),
    )


def _consequence(history: History, cut: Cut, lost: Collection[int]) -> str:
    asked = {each.tensor for each in cut.backward.inputs}
    names = learning.listed(history, asked.intersection(lost) or lost)
    one = len(lost) == 1
    where = history.line(cut.backward.site)
    if cut.dead:
        return f"The backward pass in {where} has no way to {names}."
    if cut.term:
        they = "it learns" if one else "they learn"
        return (
            f"{_large(cut.term)} depends on {names} and gives no gradient: "
            f"{they} from other terms alone."
        )
    gets = "gets" if one else "get"
    return f"{_large(names)} {gets} no gradient in the backward pass of {where}."


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]


def _certainty(history: History, cut: Cut, lost: Collection[int]) -> float:
    guessed = any(each.detour and not each.detour.seen for each in cut.crossings)
    share = len(lost) / (len(lost) + len(cut.backward.leaves))
    meant = _SAID.get(cut.kind, 0)
    less = any(
        _SAID.get(other.kind, 0) < meant
        and cut.lost <= other.lost
        # A copy of a model takes `.data`, too.
        and (other.kind, other.call.op) != ("detach", "data.get")
        for other in cuts(history)
    )
    return (0.5 if less else 0.6 if guessed else 0.8) + 0.2 * share


_SAID: dict[Kind, int] = {"detach": 1, "block": 2}
"""What says that a gradient is to end: of several cuts, that is meant most likely."""


def _is_usual(history: History, cut: Cut) -> bool:
    """Tell whether earlier passes of this line had a graph in spite of this cut."""
    alive = [
        each.index
        for each in history.backwards
        if each.index < cut.backward.index
        and each.site == cut.backward.site
        and not is_dead(each)
    ]
    if not cut.dead or not alive:
        return False
    mine = cut.call.site, cut.call.op, cut.call.grad_enabled
    return any(
        each.index < alive[-1] and (each.site, each.op, each.grad_enabled) == mine
        for each in history.calls
    )


def _broke_off(history: History, cut: Cut) -> bool:
    """Tell whether an error ended the run before the step that a pass was for.

    Another pass, before that step, may have been meant to reach what this one did not.
    """
    stepped = following(learning.steps(history), cut.backward.index)
    return history.raised is not None and not stepped


def _missed(history: History, cut: Cut) -> set[int]:
    """Return the leaves whose ``.grad`` was read, where a None ended the run."""
    return set(cut.lost & read_gradients(history)) if none_ended_run(history) else set()


def _weight(history: History, cut: Cut) -> tuple[Severity, Collection[int]]:
    """Return how loudly to speak of a cut, and the leaves worth naming."""
    if is_new_leaf(cut):
        return "error", cut.lost
    if cut.dead:
        if cut.backward.error is None:
            return "info", ()
        return ("error" if history.ended_by(cut.backward) else "info"), cut.lost
    missed, wanted = _missed(history, cut), learning.wanted(history)
    if _broke_off(history, cut) and not missed:
        return "info", cut.lost if wanted is None else cut.lost & wanted
    if wanted is not None:
        return "warning", cut.lost & wanted
    if missed:
        return "error", missed
    # Nobody steps these leaves. A block with no_grad() says what is meant, and what
    # only enters a comparison is a target.
    meant = cut.kind == "block" or not cut.fed
    return ("info" if meant else "warning"), cut.lost
