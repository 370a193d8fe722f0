"""The terms of a loss: whom each teaches, and what each gives to a parameter."""

from __future__ import annotations

from collections.abc import Callable

from gradviz.answers.answer import Step
from gradviz.answers.run import Run
from gradviz.dependence import learning
from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.program import Backward

_MOST_TOLD = 6  # terms of one loss


def of_loss(run: Run, backward: Backward, parameters: set[int]) -> list[Step]:
    """Return a step for each term of a loss: which of some parameters it teaches."""
    if not parameters:
        return []
    return _told(
        run, backward, lambda account, term: _taught(run, account, term, parameters)
    )


def of_parameter(run: Run, backward: Backward, tensor: int) -> list[Step]:
    """Return a step for each term of a loss: what part of a gradient it gives."""
    return _told(run, backward, lambda account, term: _given(account, term, tensor))


def _told(
    run: Run, backward: Backward, words: Callable[[Account, Term], str]
) -> list[Step]:
    """Return a step for each term of a loss that has several.

    They are those of the last pass that is known in full; where there is none, nothing
    is told.
    """
    known = run.known_like(backward)
    if known is None:
        return []
    account = run.history.once(Accounts).of(known)
    terms = account.lines()
    if len(terms) < 2:
        return []
    steps = [
        run.step("term", words(account, term), term.site, event=known, value=term.value)
        for term in terms[:_MOST_TOLD]
    ]
    rest = len(terms) - _MOST_TOLD
    more = [run.step("term", f"{rest} more terms are not told.")] if rest > 0 else []
    return steps + more


def _taught(run: Run, account: Account, term: Term, parameters: set[int]) -> str:
    if not term.has_graph:
        return f"{account.name(term)} has no graph: as a term it teaches nobody."
    met = account.leaves(term) & parameters
    if not met:
        return f"The term {account.name(term)} reaches none of them."
    moved = account.moved(term)
    if moved is not None and not moved & met:
        return f"The term {account.name(term)} gives nothing but zeros."
    listed = learning.listed(run.history, met)
    taught = f"{len(met)} of {len(parameters)}"
    return f"The term {account.name(term)} teaches {taught}: {listed}."


def _given(account: Account, term: Term, tensor: int) -> str:
    if not term.has_graph:
        return f"{account.name(term)} has no graph: as a term it teaches nobody."
    if tensor not in account.leaves(term):
        return f"The term {account.name(term)} does not reach it."
    share = account.share(term, tensor)
    if share is None:
        return f"The term {account.name(term)} reaches it."
    gives = f"The term {account.name(term)} gives {_percent(share)} of"
    met = account.meeting(tensor)
    if met is None:
        return f"{gives} its gradient."
    made = account.history.last_producer(met, account.backward.index)
    where = "" if made is None else f" of {account.history.line(made.site)}"
    return f"{gives} the gradient at {account.history.name(met)}{where}, on its way."


def _percent(share: float) -> str:
    """Return a part of 1 in words that claim no more digits than matter.

    >>> [_percent(each) for each in (0.0, 0.002, 0.934, 0.999, 1.0)]
    ['nothing', 'less than 1 %', '93 %', 'more than 99 %', 'all']
    """
    if share in (0, 1):
        return "all" if share else "nothing"
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{share:.0%}".replace("%", " %")
