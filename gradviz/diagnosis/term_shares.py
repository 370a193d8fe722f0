"""Put into a snapshot which part of each gradient came from which term of the loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz import ir
from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.diagnosis._drawn import with_sites
from gradviz.program import History
from gradviz.text.words import clip

MOST_TERMS = 6
MOST_SHARES = 4_000
MOST_NODES = 20_000  # of a pass that is taken apart
_LONGEST = 32  # characters of a name
_EXACT = 1e-3
_MOST_CALLS = 50  # between a term and the loss


def with_term_shares(snapshot: ir.Snapshot, history: History) -> ir.Snapshot:
    """Return the snapshot with the shares of the last pass that has several terms."""
    try:
        return _with_shares(snapshot, history)
    except Exception as error:  # the graph itself is what counts
        note = f"Terms of losses were not told: {type(error).__name__}: {error}"
        return replace(snapshot, notes=(*snapshot.notes, note))


@dataclass(slots=True)
class _Part:
    """What the code calls one summand: the terms that it was added up from."""

    name: str
    terms: list[Term]


def _with_shares(snapshot: ir.Snapshot, history: History) -> ir.Snapshot:
    found = _last_parts(history)
    if found is None or not snapshot.flow_layers:
        return snapshot
    account, parts = found
    shares = tuple(_shares(snapshot, account, parts))[:MOST_SHARES]
    sited = [part.terms[0].site for part in parts]
    snapshot, row_of = with_sites(snapshot, history, sited)
    terms = [
        ir.LossTerm(part.name, row_of[site])
        for part, site in zip(parts, sited, strict=True)
    ]
    return replace(snapshot, loss_terms=tuple(terms), term_shares=shares)


def _last_parts(history: History) -> tuple[Account, list[_Part]] | None:
    """Return the summands of the last pass that was looked at, if it has some."""
    passes = reversed(history.known_in_full)
    backward = next((each for each in passes if each.leaves and not each.error), None)
    if backward is None or backward.node_count > MOST_NODES:
        return None
    account = history.once(Accounts).of(backward)
    parts: dict[str, _Part] = {}
    for term in account.lines():
        if term.has_graph:
            name = _name(term, account)
            parts.setdefault(name, _Part(name, [])).terms.append(term)
    found = list(parts.values())
    return (account, found) if 2 <= len(found) <= MOST_TERMS else None


def _shares(
    snapshot: ir.Snapshot, account: Account, parts: list[_Part]
) -> Iterator[ir.TermShare]:
    facts = account.history.program.tensors.items()
    latest = {each.name: tensor for tensor, each in facts if each.name}
    reached = [
        set[int]().union(*(account.leaves(term) for term in part.terms))
        for part in parts
    ]
    for row, layer in enumerate(snapshot.flow_layers):
        leaf = latest.get(layer.name)
        if leaf is None:
            continue
        given = [_share(account, part, leaf) for part in parts]
        # What began where the terms meet is given by no term: then nothing is told.
        is_told = abs(sum(each or 0 for each in given) - 1) < _EXACT
        for number, share in enumerate(given):
            if leaf in reached[number]:
                yield ir.TermShare(row, number, share if is_told else None)


def _share(account: Account, part: _Part, leaf: int) -> float | None:
    shares = [account.share(term, leaf) for term in part.terms]
    known = [share for share in shares if share is not None]
    return sum(known) if len(known) == len(shares) else None


def _name(term: Term, account: Account) -> str:
    """Return the name of the outermost part of the loss that a term was added to.

    Of ``loss = fit + 0.1 * kl`` all that ``kl`` was added up from is ``kl``.
    """
    history, value = account.history, term.value
    roots = {root.tensor for root in account.backward.roots}
    name, line = "", history.text(term.site)
    for _ in range(_MOST_CALLS):
        if value is None or value.tensor in roots:
            break
        own = history.name(value, "").strip("`")
        name = own or name
        uses = history.uses(value.tensor)
        adding = (each for each in uses if each.index < account.backward.index)
        results = (out for each in adding for out in each.outputs if out.requires_grad)
        value = next(results, None)
    return clip(name or line or "a term", _LONGEST)
