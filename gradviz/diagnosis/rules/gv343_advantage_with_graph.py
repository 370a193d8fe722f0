"""What weighs the log probability of a draw has a graph: its own loss is disturbed.

What it does
    Finds products of the log probability of a draw and a weight (a return less a
    baseline, an advantage, a critic's value) that both learn, where the weight reaches
    parameters that have a term of their own in the loss, and a step applies both.

Why is this bad
    The estimator of a policy's gradient holds for constant weights alone. With its
    graph, the policy's loss also teaches the critic to make the weight small or large,
    against the critic's own loss.

Example
    ::

        advantage = returns - critic(states)
        loss = -(log_probs * advantage).mean() + advantage.pow(2).mean()

Use instead
    ::

        advantage = returns - critic(states)
        loss = -(log_probs * advantage.detach()).mean() + advantage.pow(2).mean()

When it stays quiet
    The weight's gradients are cleared before any step applies them; nothing was drawn
    from what the other factor was computed from; the weight has no term of its own.

References
    Sutton et al., 1999, Policy gradient methods with function approximation.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import Flow, words
from gradviz.dependence.op_families import MULTIPLICATIONS, plain
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import makers, name_of
from gradviz.diagnosis.rules._terms import in_all_passes, learners, reached_beside
from gradviz.program import Call, History, RawSite, Value

_DRAWS = words("multinomial bernoulli normal poisson sample binomial")


@rule("GV343", "advantage-with-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per product whose weight learns from it."""
    drawn = {
        call.outputs[0].tensor: call
        for call in history.calls
        if plain(call.op) in _DRAWS and _draws_from_others(call)
    }
    told = set[RawSite | None]()
    for account, term in _learning(history) if drawn else ():
        for call in _products(history, account, term):
            for score, weight in (call.inputs[:2], call.inputs[1::-1]):
                lost = _taught(history, account, term, call, score, weight)
                if lost and call.site not in told and _is_score(history, score, drawn):
                    told.add(call.site)
                    yield _hit(history, account, call, weight, lost)


def _draws_from_others(call: Call) -> bool:
    """Tell whether a call draws from what it is given, and fills no tensor anew."""
    return bool(call.inputs and call.outputs) and not call.writes


def _learning(history: History) -> Iterator[tuple[Account, Term]]:
    return in_all_passes(history, lambda *each: bool(learners(history, *each)))


def _products(history: History, account: Account, term: Term) -> Iterator[Call]:
    known = history.once(makers)
    for node in account.nodes(term):
        call = known.get(node.key)
        if call is None or plain(call.op) not in MULTIPLICATIONS:
            continue
        learn = all(each.requires_grad and not each.is_leaf for each in call.inputs)
        if learn and len(call.inputs) == 2:
            yield call


def _taught(
    history: History,
    account: Account,
    term: Term,
    call: Call,
    score: Value,
    weight: Value,
) -> set[int]:
    """Return what learns from a weight and not from the score, with its own term."""
    flow = history.once(Flow)
    behind = flow.leaves(weight, call.index) - flow.leaves(score, call.index)
    behind &= learners(history, account, term)
    return behind & reached_beside(history, call.nodes) if behind else behind


def _is_score(history: History, score: Value, drawn: dict[int, Call]) -> bool:
    """Tell whether a value comes from a draw and from what that was drawn with."""
    behind = history.behind([score])
    leaves = {v for v in history.once(Flow).leaves(score, _END) if v in behind}
    return any(
        leaves & history.behind(drawn[each].inputs, drawn[each].index)
        for each in behind & drawn.keys()
    )


_END = 1 << 62  # behind all events


def _hit(
    history: History, account: Account, call: Call, weight: Value, taught: set[int]
) -> Hit:
    name = name_of(history, weight, "what it is multiplied with")
    made = history.producer(weight, before=call.index)
    # Where nothing else reads it, it can be a constant from the beginning.
    alone = len({each.index for each in history.uses(weight.tensor)}) == 1
    place = None if made is None else made.site
    where, other = (place, call.site) if place and alone else (call.site, place)
    return Hit(
        f"{history.quoted(call.site)} weighs the log probability of a draw with "
        f"{name}, which has a graph: this term moves "
        f"{learning.listed(history, taught)} too, against the term that is to train "
        f"{learning.plural(len(taught), 'it', 'them')}.",
        where,
        f"The weight is to be a constant here: `{name.strip('`')}.detach()`."
        if "`" in name
        else "Detach the weight: it is to be a constant here.",
        symptom=account.backward.site,
        related=(
            Related(
                "weighs here" if where is not call.site else "the weight",
                other,
            ),
        ),
        nodes=call.nodes,
        tensors=tuple(sorted(taught)),
        certainty=0.75,
    )
