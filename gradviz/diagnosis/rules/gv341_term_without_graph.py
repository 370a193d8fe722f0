"""A term is added to a loss, and it was cut off from the parameters it measures.

What it does
    Finds terms of a loss without a graph that were computed from parameters which an
    optimizer steps: through positions, comparisons, casts, copies or ``.data``; through
    ``detach()`` or ``item()`` where no pass ever walks the graph that was cut off.

Why is this bad
    The number of the loss moves with the parameters, and no gradient does: the term is
    a constant to autograd. Where the rest of the loss reaches the same parameters, no
    gradient is missing, and nothing tells.

Example
    ::

        penalty = sum(p.data.abs().sum() for p in net.parameters())
        loss = error + 0.01 * penalty

Use instead
    ::

        penalty = sum(p.abs().sum() for p in net.parameters())

When it stays quiet
    A parameter gets no gradient at all: then the cut has a rule of its own. The term
    was computed under ``no_grad``, which says that a constant is meant, or detached and
    its graph serves another pass, as of a second loss whose number is shown; it is a
    factor; it holds another term of the same loss, whose number it replaces; a number
    for each sample that was not detached in so many words, or beside a term that was
    computed in the same way, as the old and the new probability of an action.

References
    https://arxiv.org/abs/2101.03961
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import blamed, cuts
from gradviz.dependence.flow import Crossing, Flow, compares
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._terms import accounts, is_one_of_several, walked
from gradviz.program import Backward, Call, History, RawSite, following

_HOW = {
    "numbers": "tensors, joined by `torch.stack([…])`, instead of numbers",
    "copy": "`torch.stack([…])` instead of `torch.tensor([…])`",
    "index": "probabilities instead of positions",
    "threshold": "a sigmoid instead of a comparison",
}
_CUTS = ("index", "threshold", "cast", "copy", "detach", "numbers")


@rule("GV341", "term-without-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes such a term."""
    wanted = learning.wanted(history) or learning.trained(history)
    told = {cut.call.site for cut in cuts(history)}  # other rules: a leaf is lost
    for account in accounts(history):
        for term in account.lines() if account.backward.api == "backward" else ():
            crossing = _cut(history, account, term, wanted)
            if crossing is None or term.use is None or crossing.call.site in told:
                continue
            told.add(crossing.call.site)
            site = _place(history, crossing, term)
            yield _hit(history, crossing, site, term.use, account.backward, wanted)


def _cut(
    history: History, account: Account, term: Term, wanted: set[int]
) -> Crossing | None:
    """Return what cut a term off from something that learns.

    One of a number for each sample has to be detached in so many words.
    """
    flow = history.once(Flow)
    if term.has_graph or term.use is None or is_one_of_several(account, term):
        return None
    shaped = term.value is not None and bool(term.value.shape)
    for crossing in flow.constant(term.value, term.number, term.use):
        kind, _ = blamed(history, crossing)
        said = kind == "numbers" or (
            kind == "detach" and crossing.call.op != "data.get"
        )
        behind = flow.leaves(crossing.source, crossing.call.index)
        if kind not in _CUTS or not behind & wanted:
            continue
        if shaped and (not said or _has_twin(history, account, crossing)):
            continue
        if not said and crossing.detour is None:
            return crossing
        if said and not _is_meant(history, account, term, crossing):
            return crossing
    return None


def _has_twin(history: History, account: Account, crossing: Crossing) -> bool:
    """Tell whether a term was computed as what was cut off: the new and the old one."""
    made = history.producer(crossing.source, before=crossing.call.index)
    return made is None or any(
        term.has_graph and term.made is not None and term.made.op == made.op
        for term in account.terms
    )


def _is_meant(
    history: History, account: Account, term: Term, crossing: Crossing
) -> bool:
    """Tell whether the graph of what became a constant serves a pass in its own right.

    Also what holds another term: ``surrogate + (loss - surrogate).detach()``. One
    number of many that were cut off may be a baseline, but not where it compares them.
    """
    source = crossing.source
    if source.is_leaf:
        return not source.is_parameter
    if source.node is None or source.node in walked(history):
        return True
    shaped = term.value is not None and bool(term.value.shape)
    if bool(source.shape) != shaped and not _is_of_loss(history, term, crossing):
        return True
    behind = history.behind([source], crossing.call.index)
    terms = {
        each.value.tensor for each in account.terms if each.value and each.has_graph
    }
    return bool(behind & terms)


def _is_of_loss(history: History, term: Term, crossing: Crossing) -> bool:
    """Tell whether a loss was computed from what was cut off, to be added as a term."""
    if term.value is None or term.use is None:
        return False
    flow, made = history.once(Flow), crossing.call.outputs
    way = flow.calls_between(made, term.value, term.use.index)
    return any(map(compares, way))


def _place(history: History, crossing: Crossing, term: Term) -> RawSite | None:
    """Return the cut; of one with a result that learns, what is made of the other."""
    call = crossing.call
    if term.value is None or not any(each.requires_grad for each in call.outputs):
        return call.site
    behind = history.behind([term.value])
    for made in call.outputs:
        for each in history.uses(made.tensor) if not made.requires_grad else ():
            if behind & {value.tensor for value in each.outputs}:
                return each.site
    return call.site


def _others(history: History, backward: Backward, lost: set[int]) -> str:
    """Return what becomes of parameters that the next step does not train."""
    steps = following(learning.steps(history), backward.index)
    row = history.program.optimizers.get(steps[0].optimizer) if steps else None
    others = lost - set(row.tensors) if row is not None else set[int]()
    if row is None or not others or not lost - others:
        return ""
    name = f"`{row.name}`" if row.name else f"the {row.kind}"
    return (
        f" {name} does not hold {learning.listed(history, others)}: they will get a "
        "gradient, but stay as they are in this step."
    )


def _hit(
    history: History,
    crossing: Crossing,
    site: RawSite | None,
    use: Call,
    backward: Backward,
    wanted: set[int],
) -> Hit:
    kind, _ = blamed(history, crossing)
    flow = history.once(Flow)
    lost = flow.leaves(crossing.source, crossing.call.index) & wanted
    if crossing.source.is_parameter:
        whole = "state_dict" in history.text(site)
        fix = "Compute the term from the parameters themselves: "
        fix += (
            "`dict(….named_parameters())` instead of `….state_dict()`."
            if whole
            else "`p` instead of `p.data` or `p.detach()`."
        )
    elif kind == "detach":
        fix = f"Remove what cuts the term off.{_others(history, backward, lost)}"
    else:
        how = _HOW.get(kind, "tensors all the way")
        fix = (
            f"Compute the term with differentiable operations: {how}. Or leave it out "
            "of the loss."
        )
    return Hit(
        f"{history.quoted(use.site)} adds a term to the loss that gives no gradient: "
        f"{history.quoted(site)} cuts its graph. The term depends on "
        f"{learning.listed(history, lost)}, which so learn nothing from it: it only "
        "changes the value of the loss.",
        site,
        fix,
        symptom=backward.site,
        related=(Related("added to the loss", use.site),),
        tensors=(crossing.source.tensor,),
        edit=without_method(site, ("detach", "data")),
        certainty=0.7,
    )
