"""A custom Function saves what its forward computed, and is differentiated twice.

What it does
    Finds tensors that the forward of a Function of the user computed from an input and
    saved, neither inputs nor outputs of it, with which its backward computes a gradient
    that a second pass goes through.

Why is this bad
    Inside ``forward`` no graph is recorded: what is computed there is a constant for
    the backward. The first derivative is right; the second lacks all that goes through
    this tensor, without a word. Inputs and outputs of ``apply`` keep their graph.

Example
    ::

        @staticmethod
        def forward(ctx, x):
            sig = torch.sigmoid(x)
            ctx.save_for_backward(x, sig)
            return x * sig

Use instead
    ::

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            sig = torch.sigmoid(x)
            return grad * (sig + x * sig * (1 - sig))

When it stays quiet
    Where no second derivative is taken, for masks, indices and steps (``x > 0``,
    ``round``), which have no derivative, and for what forward returns, too.

References
    https://pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import INDEPENDENT, words
from gradviz.dependence.op_families import STEPS
from gradviz.diagnosis.custom_functions import place, twice_differentiated
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Backward,
    Call,
    CustomFunction,
    History,
    Node,
    RawSite,
    Value,
    following,
)

_FLAT = (
    INDEPENDENT
    | STEPS
    | words("bernoulli eq ne gt ge lt le argmax argmin detach data.get numel")
)  # without a derivative


@rule("GV845", "custom-fn-saves-intermediate", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per Function."""
    told = set[str]()
    for first, node, custom in twice_differentiated(history):
        applied = history.maker(node)
        if applied is None or custom.once_differentiable or custom.name in told:
            continue
        for value, made in _intermediates(history, node, custom, applied):
            used, second = _used(history, first, custom, applied, value.tensor)
            if used is not None and second is not None:
                told.add(custom.name)
                yield _hit(history, node, custom, made, (first, used, second))
                break


def _intermediates(
    history: History, node: Node, custom: CustomFunction, applied: Call
) -> Iterator[tuple[Value, Call]]:
    """Yield what a forward saved and computed itself of what needs a gradient."""
    saved = [each.value for each in (*node.saved, *custom.attributes)]
    known = {each.tensor for each in (*applied.inputs, *applied.outputs)}
    needs = {each.tensor for each in applied.inputs if each.requires_grad}
    for value in saved:
        made = history.producer(value)
        if (
            value.tensor not in known
            and "float" in value.dtype
            and made is not None
            and made.within == applied.index
            and _depends(history, value.tensor, needs, applied)
        ):
            yield value, made


def _depends(history: History, tensor: int, on: set[int], applied: Call) -> bool:
    """Tell whether a tensor of a forward changes with others, and smoothly.

    A step on the way (``round``) says that the derivative is made up on purpose.
    """
    waiting, seen, found = [tensor], set[int](), False
    while waiting:
        key = waiting.pop()
        found = found or key in on
        made = None if key in seen or key in on else history.producer(key)
        seen.add(key)
        if made is not None and made.within == applied.index:
            if made.op in _FLAT:
                return False
            waiting += [each.tensor for each in made.inputs]
    return found


def _used(
    history: History, first: Backward, custom: CustomFunction, applied: Call, kept: int
) -> tuple[Call | None, Backward | None]:
    """Return where backward computes with a tensor, and a pass that goes through it.

    One that asks for gradients of what the Function was applied to: with respect to the
    gradient that backward was given, the tensor is the constant that it should be.
    """
    tainted, nodes, used = {kept}, set[int](), None
    for call in following(history.calls, first.index):
        inside = any(each[0] is custom.backward for each in call.frames)
        if not inside or not any(each.tensor in tainted for each in call.inputs):
            continue
        used = used or call
        tainted |= {each.tensor for each in call.outputs}
        nodes |= set(call.nodes)
    behind = history.behind([each for each in applied.inputs if each.requires_grad])
    for event in following(history.backwards, first.index):
        wanted = {each.tensor for each in event.inputs} or set(event.leaves)
        through = event.nodes or [run.node for run in event.runs]
        if not nodes.isdisjoint(through) and not behind.isdisjoint(wanted):
            return used, event
    return used, None


def _hit(
    history: History,
    node: Node,
    custom: CustomFunction,
    made: Call,
    at: tuple[Backward, Call, Backward],
) -> Hit:
    first, used, second = at
    name = next(iter(history.places.targets(made.site)), "")
    said = f"`{name}`" if name else f"`{history.text(made.site)}`"
    site, line = _saved_at(history, custom, name)
    bare = name.rpartition(".")[2]
    again = f"`{bare} = {history.text(made.site)}`" if name else said
    return Hit(
        f"The second derivative in {history.line(second.site)} is wrong: "
        f"`{custom.name}.backward` treats {said} as a constant, because "
        f"`{custom.name}.forward` computed and saved {said} without a graph "
        f"({history.line(made.site)}). The first derivative "
        f"({history.line(first.site)}) is right.",
        site or made.site,
        f"Save the inputs of `forward` and compute {said} again in `backward`: "
        f"{again}.",
        line=line,
        symptom=second.site,
        related=(
            Related("computed without a graph here", made.site),
            Related("used in backward here", used.site),
            Related("first derivative here", first.site),
        ),
        nodes=(node.key,),
        certainty=0.9,
    )


def _saved_at(
    history: History, custom: CustomFunction, name: str
) -> tuple[RawSite | None, int | None]:
    """Return the line of a forward that puts a name on its ctx."""
    code = custom.forward
    function = None if code is None else history.places.function(code)
    if code is None or function is None:
        return None, None
    for each in own_nodes(function):
        kept = isinstance(each, ast.Assign) and any(
            isinstance(target, ast.Attribute) for target in each.targets
        )
        saves = isinstance(each, ast.Call) and called(each) == "save_for_backward"
        if (kept or saves) and any(
            isinstance(part, ast.Name) and part.id == name for part in ast.walk(each)
        ):
            return place(history, code, each.lineno)  # type: ignore[attr-defined]
    return None, None
