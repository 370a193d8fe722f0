"""GV848: the backward of a Function writes into the gradient that it was given.

What it does
    Finds writes in place to the incoming gradient inside the backward of a user's
    Function, where another branch was handed the same tensor and reads it later.
Why is this bad
    ``a + b`` hands one gradient tensor to both. What this backward masks or scales in
    place is masked and scaled in the other branch as well, without an error.
Example
    @staticmethod
    def backward(ctx, grad_output):
        grad_output[ctx.outside] = 0
        return grad_output
Use instead
    return grad_output.masked_fill(ctx.outside, 0)
When it stays quiet
    The backward writes into a copy, or nobody else has the gradient that it is given.
References
    https://pytorch.org/docs/stable/notes/extending.html ("you should not modify
    grad_output in place")
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from gradviz.dependence.nesting import by_function
from gradviz.diagnosis._gradient_sharing import met_later, sharer_at
from gradviz.diagnosis._rewrites import instead
from gradviz.diagnosis.custom_functions import custom_nodes
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import copied_first, out_of_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Node


@rule("GV848", "custom-fn-writes-gradient", "error")
def check(history: History) -> Iterator[Hit]:
    told = set[CodeType | None]()
    for node, custom in custom_nodes(history):
        if custom.backward in told or node.shape is None:
            continue
        writer = history.once(_writers).get(custom.backward)
        if writer is None:
            told.add(custom.backward)
            continue
        shared = sharer_at(history, (node.key, 0), node.shape)
        if shared is not None and met_later(history, shared[1], node):
            told.add(custom.backward)
            yield _hit(history, node, writer, *shared)


def _writers(history: History) -> dict[CodeType | None, Call]:
    """Return, by backward, the first call that writes what this one was given.

    That is memory that no call outside made or read, and none inside made.
    """
    backwards = {custom.backward for _, custom in custom_nodes(history)}
    elsewhere = {
        value.storage
        for call in history.calls
        if call.site is None or call.site[0] not in backwards
        for value in (*call.inputs, *call.outputs)
    }
    found: dict[CodeType | None, Call] = {}
    for code in backwards - {None}:
        made = set[int]()
        for call in by_function(history).get(code, ()):
            given = {each.storage for each in call.inputs} - made - elsewhere
            if any(write.storage in given for write in call.writes):
                found.setdefault(code, call)
            made |= {each.storage for each in call.outputs} - given
    return found


def _hit(history: History, node: Node, writer: Call, giver: Node, other: Node) -> Hit:
    assert node.custom is not None
    return Hit(
        f"{node.custom.name}.backward writes into the gradient that it is given: "
        f"{history.quoted(writer.site)}. {history.quoted(giver.site)} hands one "
        "gradient tensor to all that it adds, so theirs changes with it.",
        writer.site,
        instead(history, writer.site),
        symptom=node.site,
        related=(
            Related("applied here", node.site),
            Related("gradient shared here", giver.site),
        ),
        nodes=(node.key, giver.key, other.key),
        edit=first_of(out_of_place(writer.site), copied_first(writer.site)),
    )
