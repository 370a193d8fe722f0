"""The backward of a custom Function gives zeros, whatever comes.

What it does
    Finds Functions of the user whose backward got gradients that are not zero and gave
    nothing but zeros, in every call of the run, to parameters that get no other
    gradient. Where it filled a copy of what it returns, that is the line.

Why is this bad
    The graph is connected and every parameter has a gradient: zeros. A mask that never
    fits, the derivative of a step (``round``, ``sign``) or an integer division do this.

Example
    ::

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() < 0)

Use instead
    ::

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() < 1)

When it stays quiet
    Where any call gave something else than zeros, a single element included, or the
    parameters behind get a gradient by another way.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from types import CodeType

from gradviz.dependence import learning
from gradviz.dependence.nesting import by_function
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.custom_functions import return_place
from gradviz.diagnosis.edits.writes import receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero
from gradviz.program import Backward, Call, History, Node, NodeRun


@rule("GV841", "custom-fn-zero-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    turns: dict[str, list[tuple[Backward, Node, NodeRun]]] = defaultdict(list)
    moved = set[int]()
    for backward in history.backwards:
        for run in backward.runs:
            node = history.node(run.node)
            if node is not None and node.custom is not None:
                turns[node.custom.name].append((backward, node, run))
            elif (
                node is not None and node.leaf is not None and any_nonzero(run.incoming)
            ):
                moved.add(node.leaf)
    for met in turns.values():
        met = [each for each in met if any_nonzero(each[2].incoming)]
        if met and all(_gives_zeros(run) for _, _, run in met):
            backward, node, _ = met[0]
            lost = history.leaves_behind([node.key]) - moved
            if lost:
                yield _hit(history, backward, node, lost)


def _gives_zeros(run: NodeRun) -> bool:
    given = [each for each in run.outgoing if each is not None]
    return bool(given) and all(each.zeros == each.count > 0 for each in given)


def _hit(history: History, backward: Backward, node: Node, lost: set[int]) -> Hit:
    custom = node.custom
    assert custom is not None
    site, line = return_place(history, custom.backward)
    fix = (
        "Check the mask or factor; for a step such as round(), pass the gradient on as "
        "it is (a straight-through estimator)."
    )
    why, into_copy = "", _written_into_copy(history, custom.backward)
    if into_copy is not None:
        site, line = into_copy.site, None
        why = (
            f" `{history.text(site)}` writes into a copy, as an index that is no slice "
            "makes one, and the zeros stay."
        )
        fix = f"Assign to the index instead: `{in_code(receiver(history, site))} = …`."
    return Hit(
        f"{custom.name}.backward gives zeros for every gradient that it gets: "
        f"{learning.listed(history, lost)} behind it cannot learn.{why}",
        site or node.site,
        fix,
        line=line,
        symptom=backward.site,
        related=(Related("applied here", node.site),),
        nodes=(node.key,),
        tensors=tuple(sorted(lost)),
        certainty=0.7,
    )


def _written_into_copy(history: History, backward: CodeType | None) -> Call | None:
    """Return the call of a backward that fills a copy of elements and drops it."""
    for call in by_function(history).get(backward, ()):
        written = call.inputs[0] if call.writes else None
        made = None if written is None else history.producer(written, call.index)
        if written is None or made is None or plain(made.op) != "getitem":
            continue
        is_copy = made.inputs[0].storage != written.storage
        if is_copy and not history.uses(written.tensor, after=call.index):
            return call
    return None
