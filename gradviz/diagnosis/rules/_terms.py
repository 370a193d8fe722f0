"""What the accounts of losses tell: which terms learn, and which were meant to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.diagnosis.rules import _leaves
from gradviz.diagnosis.rules._cuts import sampled
from gradviz.diagnosis.rules._gradients import applied, is_failed
from gradviz.program import Backward, History, RawSite, Value

_LEAST = 2  # passes of one line that must agree

Entry = tuple[Account, Term]


@_leaves.once
def accounts(history: History) -> list[Account]:
    """Return the accounts of the first and last passes of each line."""
    known = history.once(Accounts)
    passes = [each for each in history.backwards if not is_failed(each)]
    return [known.of(each) for each in sampled(passes)]


def in_all_passes(
    history: History, wanted: Callable[[Account, Term], bool]
) -> Iterator[Entry]:
    """Yield the first of the terms of a line that are alike in all its passes.

    What one pass shows alone may be meant: a weight that is still switched off.
    """
    found: dict[object, list[Entry]] = defaultdict(list)
    passes: dict[RawSite | None, set[int]] = defaultdict(set)
    for account in accounts(history):
        passes[account.backward.site].add(account.backward.index)
        for term in account.terms:
            found[account.backward.site, *term.line].append((account, term))
    for entries in found.values():
        seen = {account.backward.index for account, _ in entries}
        if len(seen) < _LEAST or seen != passes[entries[0][0].backward.site]:
            continue
        if all(wanted(account, term) for account, term in entries):
            yield entries[0]


def learning(history: History, account: Account, term: Term) -> set[int]:
    """Return the leaves that a term reaches and a step changes with its gradient."""
    return account.leaves(term) & applied(history).get(account.backward.index, set())


def reached(account: Account, term: Term) -> set[int]:
    """Return the leaves that a term moves; where that was not measured, all it meets."""
    moved = account.moved(term)
    return account.leaves(term) if moved is None else moved


def scored(history: History, value: Value, leaves: set[int]) -> bool:
    """Tell whether a term that reaches some leaves was computed from a value as well.

    So does the log probability of a draw: what drew it learns without a way through it.
    """
    return any(
        term.value is not None
        and reached(account, term) & leaves
        and value.tensor in history.behind([term.value], account.backward.index)
        for account in accounts(history)
        for term in account.terms
    )


def words(history: History, account: Account, term: Term) -> str:
    """Return "the term `recon` (line 12)", or "the loss" of a root of one term."""
    if len(account.terms) == 1:
        return f"the loss of {history.line(account.backward.site)}"
    name = history.name(term.value, "") if term.value is not None else ""
    return f"the term {name or f'`{history.text(term.site)}`'} ({history.line(term.site)})"


def passes_of(history: History, backward: Backward) -> int:
    """Return how many passes of the run one line made."""
    return sum(each.site == backward.site for each in history.backwards)
