"""The terms of a loss: whom each teaches, and what each gives to a parameter."""

from __future__ import annotations

from gradviz.answers.answer import Step
from gradviz.answers.run import Run
from gradviz.dependence import learning
from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.program import Backward

_MOST_TOLD = 6  # terms of one loss


def of_loss(run: Run, backward: Backward, parameters: set[int]) -> list[Step]:
    """Return a step for each term of a loss: which of some parameters it teaches."""
    account, terms = _several(run, backward)
    total = len(parameters)
    return [
        _step(run, backward, term, _taught(run, account, term, parameters, total))
        for term in terms[:_MOST_TOLD]
    ] + _untold(run, terms)


def of_parameter(run: Run, backward: Backward, tensor: int) -> list[Step]:
    """Return a step for each term of a loss: what part of a gradient it gives."""
    account, terms = _several(run, backward)
    return [
        _step(run, backward, term, _given(account, term, tensor))
        for term in terms[:_MOST_TOLD]
    ] + _untold(run, terms)


def _several(run: Run, backward: Backward) -> tuple[Account, list[Term]]:
    """Return the account of a pass, and its terms where there is more than one."""
    account = run.history.once(Accounts).of(backward)
    terms = account.lines()
    return account, terms if len(terms) > 1 else []


def _taught(
    run: Run, account: Account, term: Term, parameters: set[int], total: int
) -> str:
    if not term.has_graph:
        return f"{account.name(term)} has no graph: as a term it teaches nobody."
    met = account.leaves(term) & parameters
    if not met:
        return f"The term {account.name(term)} reaches none of them."
    moved = account.moved(term)
    if moved is not None and not moved & met:
        return f"The term {account.name(term)} gives nothing but zeros."
    listed = learning.listed(run.history, met)
    return f"The term {account.name(term)} teaches {len(met)} of {total}: {listed}."


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


def _step(run: Run, backward: Backward, term: Term, words: str) -> Step:
    return run.step("term", words, term.site, event=backward, value=term.value)


def _untold(run: Run, terms: list[Term]) -> list[Step]:
    rest = len(terms) - _MOST_TOLD
    return [run.step("term", f"{rest} more terms are not told.")] if rest > 0 else []
