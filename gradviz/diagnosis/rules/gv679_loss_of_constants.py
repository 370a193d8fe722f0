"""A loss function compares two constants, and its result is added to the loss.

What it does
    Finds terms of a loss that a loss function, or the size of a difference, made of
    tensors none of which depends on anything that the loss teaches, step for step.

Why is this bad
    The term is a number to autograd: it teaches nobody. Mostly one of the two operands
    was to be what the model gives, and another tensor stands in its place.

Example
    ::

        soft = F.log_softmax(teacher_logits / t, dim=1)
        target = F.softmax(teacher_logits / t, dim=1)
        loss = F.cross_entropy(logits, labels) + F.kl_div(soft, target)

Use instead
    ::

        soft = F.log_softmax(logits / t, dim=1)

When it stays quiet
    The term was computed under ``no_grad``, or cut off from what learns (other rules
    tell of that); its weight is zero; nothing else of the loss has a graph.

References
    https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import DIVISIONS, LOSSES, MULTIPLICATIONS, plain
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._terms import in_all_passes, is_one_of_several
from gradviz.program import Call, History

_LOSSES = LOSSES | words(
    "cosine_embedding_loss ctc_loss gaussian_nll_loss hinge_embedding_loss kl_div "
    "margin_ranking_loss multi_margin_loss poisson_nll_loss soft_margin_loss "
    "triplet_margin_loss"
)
_SIZES = words("square pow abs norm vector_norm")
_DIFFERENCES = words("sub rsub")
_FAR = 12  # calls between a term and what it compares
_SCALING = MULTIPLICATIONS | DIVISIONS | {"mean", "sum"}


@rule("GV679", "loss-of-constants", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loss function that is given constants."""
    for account, term in in_all_passes(
        history, lambda *each: _is_constant(history, *each)
    ):
        compared = _compared(history, term)
        assert compared is not None
        yield _hit(history, account, term, compared)


def _compared(history: History, term: Term) -> Call | None:
    """Return the loss function, or the difference, that a term is made of alone."""
    call, by_hand = term.made, False
    for _ in range(_FAR):
        if call is None or not call.inputs:
            return None
        op = plain(call.op)
        if op in _LOSSES or (by_hand and op in _DIFFERENCES):
            return call
        by_hand = by_hand or op in _SIZES
        if not (by_hand or (op in _SCALING and len(call.inputs) == 1)):
            return None
        call = history.producer(call.inputs[0], before=call.index)
    return None


def _is_constant(history: History, account: Account, term: Term) -> bool:
    if term.has_graph or term.weight == 0 or account.backward.api != "backward":
        return False
    made = _compared(history, term)
    if made is None or not made.grad_enabled or is_one_of_several(account, term):
        return False
    met = {leaf for each in account.terms for leaf in account.leaves(each)}
    behind = history.behind(made.inputs, before=made.index)
    others = learning.wanted(history) or set[int]()
    others = others - _done(history, account.backward.index) | _derivatives(history)
    return bool(met) and behind.isdisjoint(met | others)


def _done(history: History, index: int) -> set[int]:
    """Return what had learnt before an event, and learns no more: a teacher."""
    later, earlier = set[int](), set[int]()
    for key, steps in learning.steps_of(history).items():
        goes_on = bool(steps) and steps[-1].index > index
        (later if goes_on else earlier).update(history.program.optimizers[key].tensors)
    return earlier - later


@learning.once
def _derivatives(history: History) -> set[int]:
    """Return what ``autograd.grad`` gave: other rules tell what cut it off."""
    results = [each.results for each in history.backwards]
    return {value.tensor for row in results for value in row if value is not None}


def _hit(history: History, account: Account, term: Term, made: Call) -> Hit:
    given = made.inputs[0]
    producer = history.producer(given, before=made.index)
    own = producer is not None and producer.module is None and producer.site is not None
    site = producer.site if own and producer is not None else made.site
    added = term.use.site if term.use is not None else None
    called = [each for each in made.stack if added and each[0] is added[0]]
    targets = history.places.targets(site) if site is not made.site else []
    if called:
        site, targets = called[0], []
    name = f"`{targets[-1]}`" if targets else history.name(given, "")
    pair = f"{name} with a target" if name else "two values"
    return Hit(
        f"The term {account.name(term)} compares {pair}, and neither "
        "depends on a parameter that learns: it changes the value of the loss, but "
        "gives no gradient.",
        site,
        f"Compute {name or 'one of them'} from what the model gives in this step, or "
        "leave the term out of the loss.",
        symptom=account.backward.site,
        related=(
            Related("compared here", made.site if site != made.site else None),
            Related("added to the loss", added),
        ),
        tensors=(given.tensor,),
        certainty=0.4,  # what cut a value off tells more
    )
