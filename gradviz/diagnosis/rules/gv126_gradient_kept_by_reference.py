"""What was kept of a gradient is the gradient itself, not a copy of it.

What it does
    Finds gradients that are added to themselves in place, and gradients of two passes
    that are one tensor by the time a line reads them one after the other, or compares
    them: what was kept of an earlier pass lies in the same memory as what the next pass
    gave.

Why is this bad
    ``backward()`` and ``zero_grad(set_to_none=False)`` write into ``.grad``. A momentum
    that is the same tensor is cleared and filled with it, so it remembers nothing.

Example
    ::

        state["momentum"] = p.grad
        ...
        state["momentum"].mul_(0.9).add_(p.grad)

Use instead
    ::

        state["momentum"] = p.grad.clone()

When it stays quiet
    The gradient is a new tensor in every pass, as after ``zero_grad()``.

References
    https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.calls import followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, following

_ADDING = words("add sub lerp")
_COMPARING = words("sub rsub div truediv dist cosine_similarity allclose equal")
# what nobody asks of a tensor and itself
_FIRST_READS = 8  # of one gradient; a loop does the same with it in every turn


@rule("GV126", "gradient-kept-by-reference", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that adds a gradient to itself, or reads two as one."""
    reads: dict[int, list[Call]] = defaultdict(list)
    told = set[RawSite | None]()
    for call in history.calls:
        if call.op == "grad.get" and call.outputs:
            reads[call.outputs[0].tensor].append(call)
        elif _adds_to_itself(call) and call.site not in told:
            found = reads.get(call.inputs[0].tensor)
            if found:
                told.add(call.site)
                yield _hit(history, call, found)
    for kept in reads.values():
        for first, second in pairwise(kept[:_FIRST_READS]):
            again = _read_as_two(history, first, second, kept)
            if again is not None and first.site not in told:
                told.add(first.site)
                yield _kept_hit(history, first, again)


def _read_as_two(
    history: History, first: Call, second: Call, reads: list[Call]
) -> Call | None:
    """Return the call that reads a gradient once for each of two passes.

    A pass lies between the two times that it was taken from its parameter, and nobody
    read the earlier one before: it was kept. Then one line reads the tensor twice, or
    compares it with itself.
    """
    passes = following(history.backwards, first.index)
    if not passes or passes[0].index > second.index:
        return None
    gradient = first.outputs[0].tensor
    taken = {each.index for each in reads}
    uses = [
        each
        for each in history.uses(gradient, first.index)
        if not each.writes and each.index not in taken
    ]
    later = next((each for each in reads if each.index > second.index), None)
    end = history.events[-1].index + 1 if later is None else later.index
    if not uses or uses[0].index < second.index:
        return None
    if first.site != second.site:
        return next(filter(_compares_with_itself, uses), None)
    met = set[RawSite | None]()
    for use in uses:
        if use.index > end:
            break
        if use.site in met:
            return use
        met.add(use.site)
    return None


def _adds_to_itself(call: Call) -> bool:
    return bool(call.writes) and plain(call.op) in _ADDING and _takes_twice(call)


def _compares_with_itself(call: Call) -> bool:
    return plain(call.op) in _COMPARING and _takes_twice(call)


def _takes_twice(call: Call) -> bool:
    return len(call.inputs) > 1 and call.inputs[0].tensor == call.inputs[1].tensor


def _hit(history: History, call: Call, reads: list[Call]) -> Hit:
    name = history.name(reads[0].inputs[0], "a parameter")
    adding = history.places.statement(call.site)
    kept = [
        read.site
        for read in reads
        if isinstance(statement := history.places.statement(read.site), ast.Assign)
        and statement is not adding
    ]
    return Hit(
        f"{history.quoted(call.site)} adds the gradient of {name} to itself: what was "
        "kept of an earlier pass is `.grad`, no copy.",
        kept[0] if kept else call.site,
        "Keep `p.grad.clone()`.",
        symptom=call.site,
        edit=followed_by(kept[0] if kept else None, ".clone()", safe=True),
        related=(Related("added to itself", call.site),),
        tensors=(reads[0].inputs[0].tensor,),
    )


def _kept_hit(history: History, first: Call, use: Call) -> Hit:
    name = history.name(first.inputs[0], "a parameter")
    return Hit(
        f"`{history.text(first.site)}` is the gradient of {name} itself, no copy: the "
        "next pass wrote into the same tensor, so that what was kept of the two passes "
        f"is one gradient by the time {history.line(use.site)} reads both.",
        first.site,
        "Keep `p.grad.clone()`.",
        symptom=use.site,
        edit=followed_by(first.site, ".clone()", safe=True),
        related=(Related("both read here", use.site),),
        tensors=(first.inputs[0].tensor,),
        certainty=0.7,
    )
