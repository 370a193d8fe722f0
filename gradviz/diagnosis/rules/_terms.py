"""What the accounts of losses tell: which terms learn, and which were meant to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import Cut, blamed, cuts, sampled, switch_of
from gradviz.dependence.flow import Crossing, Flow, compares
from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.diagnosis.rules._gradients import applied, is_failed
from gradviz.program import Backward, History, RawSite, Value

_LEAST = 2  # passes of one line that must agree

_IN_PART = "copy", "array", "numbers", "index", "threshold", "cast", "left", "detach"
"""Cuts that may cost a term all that it was to teach."""

Entry = tuple[Account, Term]


@learning.once
def accounts(history: History) -> list[Account]:
    """Return the accounts of the first and last passes of each line.

    Of a pass that is not known in full, leaves may be missing from every term.
    """
    known, full = history.once(Accounts), set(history.known_in_full)
    passes = [each for each in sampled(history) if each in full]
    return [known.of(each) for each in passes if not is_failed(each)]


def in_all_passes(
    history: History, wanted: Callable[[Account, Term], bool]
) -> Iterator[Entry]:
    """Yield the first of the terms of a loss that are alike in all its passes.

    What one pass shows alone may be meant: a weight that is still switched off.
    """
    found: dict[object, list[Entry]] = defaultdict(list)
    passes: dict[object, set[int]] = defaultdict(set)
    for account in accounts(history):
        passes[account.line].add(account.backward.index)
        for term in account.lines():
            found[account.line, *term.line].append((account, term))
    for entries in found.values():
        seen = {account.backward.index for account, _ in entries}
        first = entries[0][0]
        if passes_of(history, first.backward) < _LEAST or seen != passes[first.line]:
            continue
        if all(wanted(account, term) for account, term in entries):
            yield entries[0]


def learners(history: History, account: Account, term: Term) -> set[int]:
    """Return the leaves that a term reaches and a step changes with its gradient."""
    return account.leaves(term) & applied(history).get(account.backward.index, set())


def reached(account: Account, term: Term) -> set[int]:
    """Return the leaves that a term moves; not measured, all that it meets."""
    moved = account.moved(term)
    return account.leaves(term) if moved is None else moved


def scored(history: History, value: Value, leaves: set[int]) -> bool:
    """Tell whether a term that reaches some leaves was computed from a value as well.

    So does the log probability of a draw: what drew it learns without a way through it.
    One of other data does as well, as of what the other half of a model dreamt.
    """
    return any(
        term.value is not None
        and reached(account, term) & leaves
        and (
            value.tensor in history.behind([term.value], account.backward.index)
            or _is_likelihood(history, account, term)
        )
        for account in accounts(history)
        for term in account.terms  # those of one line are made of different values
    )


def _is_likelihood(history: History, account: Account, term: Term) -> bool:
    """Tell whether a term is a log probability, by the lines that it was made in."""
    sites = {node.site for node in account.nodes(term)}
    return any(".log_prob(" in history.text(site) for site in sites)


def is_one_of_several(account: Account, term: Term) -> bool:
    """Tell whether its line adds other terms that have a graph, as of each parameter.

    What is frozen among them gives a constant, and is meant to.
    """
    others = (each.line for each in account.terms if each.has_graph)
    return any(term.site in line for line in others)


@learning.once
def term_cuts(history: History) -> list[Cut]:
    """Return the cuts that cost one term of a loss leaves that others still reach.

    Either the term moves nothing that its pass is to train, as one that a decorator
    took the graph from, or another pass trains what judges there what was cut off, or
    a draw feeds it whose distribution has no other way to learn from what it draws.
    """
    if learning.wanted(history) is None:
        return []
    told = {cut.call.site for cut in cuts(history)}
    found: list[Cut] = []
    for account, term in in_all_passes(
        history, lambda *each: any(_cut(history, *each))
    ):
        at = defaultdict[RawSite | None, list[tuple[Crossing, set[int]]]](list)
        for crossing, lost in _cut(history, account, term):
            if crossing.call.site not in told:
                at[crossing.call.site].append((crossing, lost))
        told.update(at)
        for rows in at.values():
            first, _ = rows[0]
            kind, place = blamed(history, first)
            found.append(
                Cut(
                    kind,
                    account.backward,
                    tuple(crossing for crossing, _ in rows),
                    switch_of(history, first),
                    place,
                    frozenset(leaf for _, lost in rows for leaf in lost),
                    False,
                    words(history, account, term),
                )
            )
    return found


def _cut(
    history: History, account: Account, term: Term
) -> Iterator[tuple[Crossing, set[int]]]:
    """Yield what cuts a term off, with the leaves that are lost to it.

    Of one without a graph, that is a draw, or a decorator, which its caller may know
    nothing of.
    """
    if term.value is None or account.backward.api == "grad":
        return
    if not term.has_graph:
        yield from _of_constant(history, term, term.value)
        return
    flow, use = history.once(Flow), term.use or account.backward
    idle = not learners(history, account, term)
    stepped = applied(history).get(account.backward.index, set[int]())

    def is_cut(crossing: Crossing, lost: set[int]) -> bool:
        kind, _ = blamed(history, crossing)
        if kind == "sample":  # what another optimizer steps has a pass of its own
            made, mine = crossing.call.outputs, lost & stepped
            return bool(crossing.fed and mine) and not any(
                scored(history, each, lost) for each in made
            )
        # A weight that is written by `.data` was meant to be a constant.
        meant = kind == "detach" and crossing.call.op == "data.get"
        if not stepped or meant or kind not in _IN_PART:
            return False
        return idle or _is_judged(history, account, term, crossing, lost)

    met = account.leaves(term) | learning.copies(history) | learning.starved(history)
    known = (learning.wanted(history) or set[int]()) & learning.trained(history)
    for crossing in flow.crossings(term.value, use.index):
        lost = (flow.leaves(crossing.source, crossing.call.index) & known) - met
        if lost and is_cut(crossing, lost):
            yield crossing, lost


def _of_constant(
    history: History, term: Term, value: Value
) -> Iterator[tuple[Crossing, set[int]]]:
    """Yield what cuts off a number that a loss adds up.

    A draw that nothing scores, or what a function without gradients compares.
    """
    if value.shape or term.use is None:
        return
    flow, before = history.once(Flow), term.use.index
    wanted = learning.wanted(history) or set[int]()
    for crossing in flow.crossings(value, before):
        made = crossing.call.outputs
        lost = flow.leaves(crossing.source, crossing.call.index) & wanted
        match blamed(history, crossing)[0]:
            case "sample":
                is_cut = not any(scored(history, each, lost) for each in made)
            case "decorator" if (term.weight or 0) > 0:
                way = flow.calls_between(made, value, before)
                is_cut = any(map(compares, (crossing.call, *way)))
            case _:
                is_cut = False
        if is_cut:
            yield crossing, lost


def _is_judged(
    history: History, account: Account, term: Term, crossing: Crossing, lost: set[int]
) -> bool:
    """Tell whether a term judges what this pass trains by what another pass trains.

    As a discriminator does in the step of the generator: what it is given is all that
    the pass could change by it, whatever else the term may reach.
    """
    use = term.use or account.backward
    stepped = applied(history).get(account.backward.index, set[int]())
    if term.value is None or crossing.detour is not None or not lost & stepped:
        return False
    way = history.once(Flow).calls_between(crossing.call.outputs, term.value, use.index)
    judge = {each.tensor for call in way for each in call.inputs if each.is_parameter}
    others = {leaf for leaves in applied(history).values() for leaf in leaves}
    return bool(judge) and judge <= (others & account.leaves(term)) - stepped


def beside(history: History, leaf: int) -> set[int]:
    """Return the leaves that a term reaches together with this one.

    Of a leaf that no account shows, those that any pass reaches.
    """
    found = set[int]()
    for account in accounts(history):
        for term in account.lines():
            met = account.leaves(term)
            found |= met if leaf in met else set()
    return found or learning.trained(history)


def reached_beside(history: History, nodes: Iterable[int]) -> set[int]:
    """Return the leaves that some term reaches which does not lead through nodes."""
    sites = {(n.name, n.site) for key in nodes if (n := history.node(key)) is not None}
    return {
        leaf
        for account in accounts(history)
        for term in account.lines()
        if sites.isdisjoint((n.name, n.site) for n in account.nodes(term))
        for leaf in account.leaves(term)
    }


@learning.once
def walked(history: History) -> set[int]:
    """Return the nodes that some pass walked; all of them where that was not kept."""
    if any(not each.nodes and each.node_count for each in history.backwards):
        return set(history.program.nodes)
    return {key for each in history.backwards for key in each.nodes}


def words(history: History, account: Account, term: Term) -> str:
    """Return "the term `recon` (line 12)", or "the loss" of a root of one term."""
    if len(account.terms) == 1:
        return f"the loss of {history.line(account.backward.site)}"
    return f"the term {account.name(term)}"


def passes_of(history: History, backward: Backward) -> int:
    """Return how many passes of the run one line made."""
    return sum(each.site == backward.site for each in history.backwards)
