"""What looks like a leaf is a converted or changed copy of one.

What it does
    Finds tensors that were meant to be leaves but are the result of ``.to()``,
    ``.cuda()``, ``.double()``, or of another operation in the expression that created
    the leaf or asked for its gradients, or in the helper that made both.

Why is this bad
    Gradients are collected in the leaf, which has no name. The tensor that the program
    knows never gets a ``.grad``; as a parameter it would not even be registered.

Example
    ::

        w = torch.ones(3, requires_grad=True).to(torch.float64)

Use instead
    ::

        w = torch.ones(3, dtype=torch.float64, requires_grad=True)

When it stays quiet
    Where ``.to()`` had nothing to do, and where nobody asks for the ``.grad``.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.leaves import gradients_last
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._grad_reads import none_reads
from gradviz.diagnosis.rules._lifetime import CONVERSIONS, name_of, passes_through
from gradviz.program import Call, History


@rule("GV208", "nonleaf-after-to", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per tensor that only looks like a leaf."""
    for found in history.once(none_reads):
        if found.why != "converted":
            continue
        name = name_of(history, found.value)
        leaf = "the tensor before it, which no name refers to"
        if found.leaf is not None and history.name(found.leaf, ""):
            leaf = history.name(found.leaf)
        yield Hit(
            f"{name} is the result of {found.node.name} in "
            f"{history.line(found.made)}, not the leaf: the gradient goes to "
            f"{leaf}.",
            found.made,
            "Create it with its final dtype, device and shape, and let "
            "`requires_grad=True` or `.requires_grad_()` come last.",
            symptom=found.read.site,
            related=(Related("its .grad is read here", found.read.site),),
            nodes=(found.node.key,),
            tensors=(found.value.tensor,),
            explains=found.explains,
            edit=gradients_last(found.made, found.asked),
        )
    yield from _lost_parameters(history)


def _lost_parameters(history: History) -> Iterator[Hit]:
    """Yield parameters that were converted, used, and given to no optimizer."""
    known = learning.managed(history) | learning.parameters(history).keys()
    for call in history.calls if learning.steps(history) else ():
        if _converts_parameter(call, known) and passes_through(history, call.nodes[-1]):
            yield Hit(
                f"{name_of(history, call.outputs[0], 'This tensor')} is a converted "
                "copy of a parameter, and a copy is no parameter: no module registers "
                "it and no optimizer updates it.",
                call.site,
                "Convert the data first, then wrap it: "
                "nn.Parameter(data.to(...)); or move the whole module.",
                nodes=call.nodes,
                tensors=(call.outputs[0].tensor,),
            )


def _converts_parameter(call: Call, known: set[int]) -> bool:
    if call.op not in CONVERSIONS or not (call.inputs and call.outputs and call.nodes):
        return False
    source = call.inputs[0]
    return source.is_parameter and source.requires_grad and source.tensor not in known
