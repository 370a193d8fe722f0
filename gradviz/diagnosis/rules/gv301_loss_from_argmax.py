"""A loss or a layer works on the result of argmax, which has no gradient.

What it does
    Finds positions (``argmax``, ``argsort``, the indices of ``topk`` or ``sort``,
    ``multinomial``) that a backward pass meets on the way to leaves that it cannot
    reach otherwise. Where a helper gives them that a metric needs as well, who hands
    them to the loss is to blame.

Why is this bad
    A position does not move when a score moves a little: there is no derivative, and
    the graph ends. PyTorch says only that the root "does not require grad", and names
    neither the call nor the last tensor that had a graph.

Example
    ::

        predicted = logits.argmax(1)
        loss = (predicted != target).float().mean()
        loss.backward()

Use instead
    ::

        loss = F.cross_entropy(logits, target)

When it stays quiet
    Metrics beside the loss, actions and pseudo-labels whose network learns through
    another path, and ``gather`` at the best position: the leaves are reached.

References
    https://pytorch.org/docs/stable/generated/torch.argmax.html
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.dependence.flow import Flow, name_of
from gradviz.dependence.op_families import CLASS_LOSSES, DISTANCES, plain
from gradviz.diagnosis.decisions.helpers import misused
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import Call, History

_OF_CLASSES = "with `F.cross_entropy`"
_OF_NUMBERS = (
    "with the expected position (softmax of the scores, times the positions, summed)"
)


def _scores(history: History, cut: Cut) -> str:
    """Return what to compute a loss from, by what it compares."""
    flow, ways = history.once(Flow), list[Call]()
    for root in cut.backward.roots:
        ways += flow.calls_between(cut.call.outputs, root, cut.backward.index)
    compared = {plain(each.op) for each in ways}
    how = (
        f"{_OF_CLASSES} where the target is a class, {_OF_NUMBERS} where it is a number"
    )
    if compared & CLASS_LOSSES:
        how = _OF_CLASSES
    elif compared & DISTANCES:
        how = _OF_NUMBERS
    return f"Compute the loss from the scores themselves: {how};"


@cut_rule("GV301", "loss-from-argmax", "index", "other")
def words(history: History, cut: Cut) -> Words:
    call, source = cut.call, cut.crossings[0].source
    name = history.name(source, "its operand")
    buffer = call.inputs[0] if call.inputs else source
    made = history.producer(buffer)
    writes = name_of(call) in ("setitem", "copy_", "index_put_", "scatter_")
    if writes and made is not None and "float" not in buffer.dtype:
        what = (
            f"{history.name(buffer, 'A tensor')} is made in {history.line(made.site)} "
            f"with dtype {buffer.dtype}, and {history.quoted(call.site)} writes values "
            "with a graph into it: it keeps neither their fractions nor their graph."
        )
        fix = f"Make it of floats: `dtype=torch.{source.dtype}`."
        floats = with_keyword(made.site, "dtype", f"torch.{source.dtype}")
        related = (Related("written", call.site),)
        return Words(what, fix, made.site, related=related, edit=floats)
    if cut.kind == "other":
        what = f"`{call.op}` has no derivative: the graph of {name} ends there."
        return Words(what, "Use a differentiable operation.", call.site)
    if any(each.requires_grad for each in call.outputs):
        return Words(
            f"Of what `{call.op}` gives, only the positions are used, and positions "
            f"have no gradient: the graph of {name} ends here.",
            f"Use the values that `{call.op}` gives, too, or weigh with a softmax of "
            "the scores.",
            call.site,
        )
    caller = misused(history, call, cut.backward)
    if caller is not None:
        used = history.text(caller)
        return Words(
            f"The loss is computed from `{used}` ({history.line(caller)}), which gives "
            f"the positions of `{call.op}` in {history.line(call.site)}, and positions "
            f"have no gradient: the graph of {name} ends there.",
            f"{_scores(history, cut)} keep `{used}` for what is only measured.",
            caller,
            related=(Related("the graph ends here", call.site),),
        )
    return Words(
        f"`{call.op}` gives positions, and positions have no gradient: the graph of "
        f"{name} ends here.",
        f"{_scores(history, cut)} keep the positions for metrics.",
        call.site,
    )
