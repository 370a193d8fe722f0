"""A term is added to a loss, and it was cut off from the parameters it measures.

What it does
    Finds terms of a loss without a graph that were computed from parameters which an
    optimizer steps: through positions, comparisons, casts, copies or ``.data``.

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
    was cut with ``detach()`` or under ``no_grad``, which say that a constant is meant;
    it is a factor; it is no single number.

References
    https://arxiv.org/abs/2101.03961
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import blamed, cuts, sampled
from gradviz.dependence.flow import Crossing, Flow, words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, Value

_SUMS = words("add radd iadd sub rsub isub")
_SCALINGS = words("mul rmul imul div truediv itruediv neg")
_CUTS = ("index", "threshold", "cast", "copy", "detach")


@rule("GV341", "term-without-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes such a term."""
    flow = history.once(Flow)
    wanted = learning.wanted(history) or learning.trained(history)
    told = {cut.call.site for cut in cuts(history)}  # other rules: a leaf is lost
    for backward in sampled(history.backwards):
        for term, use in _terms(history, backward):
            crossing = _cut(history, flow, term, use, wanted)
            if crossing is None or crossing.call.site in told:
                continue
            told.add(crossing.call.site)
            site = _place(history, crossing, term, use)
            yield _hit(history, crossing, site, use, backward)


def _terms(history: History, backward: Backward) -> Iterator[tuple[Value, Call]]:
    """Yield the single numbers without a graph that were added up to a root."""
    roots = [root for root in backward.roots if root.requires_grad]
    waiting = [(root, backward.index) for root in roots]
    met = set[tuple[int, int]]()  # a total may be taken twice in every turn of a loop
    for value, before in waiting:
        call = history.last_producer(value, before)
        if call is None or value.shape or (value.tensor, call.index) in met:
            continue
        met.add((value.tensor, call.index))
        added = plain(call.op) in _SUMS
        for operand in call.inputs if added or plain(call.op) in _SCALINGS else ():
            if operand.requires_grad:
                waiting.append((operand, call.index))
            elif added and not operand.shape:
                yield operand, call


def _cut(
    history: History, flow: Flow, term: Value, use: Call, wanted: set[int]
) -> Crossing | None:
    """Return what cut a term off from something that learns."""
    for crossing in flow.crossings(term, use.index):
        kind, _ = blamed(history, crossing)
        said = kind == "detach" and crossing.call.op != "data.get"
        behind = flow.leaves(crossing.source, crossing.call.index)
        if kind in _CUTS and not said and crossing.detour is None and behind & wanted:
            return crossing
    return None


def _place(
    history: History, crossing: Crossing, term: Value, use: Call
) -> RawSite | None:
    """Return the cut; of one with a result that learns, what is made of the other."""
    call = crossing.call
    if not any(each.requires_grad for each in call.outputs):
        return call.site
    behind = history.behind([term], before=use.index)
    for made in call.outputs:
        for each in history.uses(made.tensor) if not made.requires_grad else ():
            if behind & {value.tensor for value in each.outputs}:
                return each.site
    return call.site


def _hit(
    history: History,
    crossing: Crossing,
    site: RawSite | None,
    use: Call,
    backward: Backward,
) -> Hit:
    name = history.name(crossing.source, "a tensor with a graph")
    return Hit(
        f"`{history.text(use.site)}` ({history.line(use.site)}) adds a term to the "
        f"loss that comes from {name} and has no graph: `{history.text(site)}` cut it "
        "off. It changes the number of the loss and no gradient.",
        site,
        "Compute the term with differentiable operations (probabilities instead of "
        "positions, `p` instead of `p.data`), or leave it out of the loss.",
        symptom=backward.site,
        related=(Related("added to the loss", use.site),),
        tensors=(crossing.source.tensor,),
        edit=without_method(site, ("detach", "data")),
        certainty=0.7,
    )
