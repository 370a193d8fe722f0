"""A state of an optimizer is the gradient itself, not a copy of it.

What it does
    Finds gradients that are added to themselves in place: what was kept of an earlier
    pass lies in the same memory as what the next pass gave.

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

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.calls import followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_ADDING = words("add sub lerp")


@rule("GV126", "gradient-kept-by-reference", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that adds a gradient to itself."""
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


def _adds_to_itself(call: Call) -> bool:
    same = len(call.inputs) > 1 and call.inputs[0].tensor == call.inputs[1].tensor
    return same and bool(call.writes) and plain(call.op) in _ADDING


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
        f"`{history.text(call.site)}` ({history.line(call.site)}) adds the gradient "
        f"of {name} to itself: what was kept of an earlier pass is `.grad`, no copy.",
        kept[0] if kept else call.site,
        "Keep `p.grad.clone()`.",
        symptom=call.site,
        edit=followed_by(kept[0] if kept else None, ".clone()", safe=True),
        related=(Related("added to itself", call.site),),
        tensors=(reads[0].inputs[0].tensor,),
    )
