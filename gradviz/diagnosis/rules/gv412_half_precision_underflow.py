"""GV412: gradients too small for float16 become exact zeros.

What it does
    Finds derivatives in float16 or bfloat16 that turned gradients into zeros although
    their formula does not. Where a scaler that is switched off was to help, what
    switched it off.
Why is this bad
    float16 ends at 6e-8. Gradients are often smaller; what gets 0 does not learn.
Example
    ``loss = (h.half() * 1e-8).sum()``
Use instead
    ``torch.amp.GradScaler``: scale the loss up before ``backward()`` and the gradients
    down before the step; or bfloat16, or float32 for the last ops.
When it stays quiet
    The gradients are scaled up, or the zeros come from a mask or a ReLU.
References
    pytorch/pytorch#40497; the recipe for automatic mixed precision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradviz.dependence.op_families import function_of, words
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import levels, spot
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.gradient_flow import magnitude, norm_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, Node, NodeRun, ScalerCall, Summary

_HALVES = ("float16", "bfloat16")
_SCALING = words(
    "mul div mm bmm addmm linear mean sum to_copy pow matmul mv dot convolution "
    "native_layer_norm sigmoid tanh exp sqrt mse_loss baddbmm"
)
_CONSTANT = ("mean", "sum", "to_copy")  # their derivative takes no factor
_SATURATING = ("sigmoid", "tanh")  # where they are flat their derivative is 0
_SMALL = 1e-4  # an incoming gradient that such a derivative may take below float16's

_SHRUNK = 1e-2  # what comes out of an op that makes a gradient small, over what came in


@rule("GV412", "half-precision-underflow", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the first underflow of each pass."""
    for backward in history.backwards:
        for run in backward.runs:
            node = history.node(run.node)
            call = history.maker(node) if node is not None else None
            if node is None or call is None or not _underflows(node, call, run):
                continue
            yield _hit(history, backward, node, call, run)
            break


def _underflows(node: Node, call: Call, run: NodeRun) -> bool:
    values = [*call.inputs, *call.outputs]
    if not any(value.dtype in _HALVES for value in values):
        return False
    function = function_of(node.name)
    if function not in _SCALING:
        return False
    incoming = [each for each in run.incoming if each is not None]
    if not incoming or any(each.bad for each in incoming):
        return False
    if function in _SATURATING and not any(map(_is_small, incoming)):
        return False
    if function == "exp" and _is_flat(call):
        return False
    expected = sum(map(_zeros, incoming)) + _zeros_of_factors(function, call)
    return any(
        _zeros(each) > (1 + expected) / 2 for each in run.outgoing if each is not None
    )


def _is_flat(call: Call) -> bool:
    """Tell whether an exponential, its own derivative, is next to 0 in places."""
    least = [each.summary.minimum for each in call.outputs if each.summary]
    return not least or least[0] is None or least[0] < _SHRUNK


def _zeros_of_factors(function: str, call: Call) -> float:
    """Return how many zeros the factors of a derivative explain; 1: perhaps all.

    A product, also a matrix product, has no larger fraction of zeros than its factors
    have together. A bias is no factor.
    """
    if function in _CONSTANT:
        return 0
    if function in ("mul", "div") and len(call.inputs) == 1:  # by a number
        return float(0 in call.arguments)
    factors = [each.summary for each in call.inputs[:2]]
    return sum(1 if each is None else _zeros(each) for each in factors)


def _zeros(summary: Summary) -> float:
    return summary.zeros / max(summary.count, 1)


def _is_small(summary: Summary) -> bool:
    return (magnitude(summary) or 0.0) < _SMALL


def _mostly_zero(summary: Summary) -> bool:
    return summary.count > 0 and 2 * summary.zeros > summary.count


def _hit(
    history: History, backward: Backward, node: Node, call: Call, run: NodeRun
) -> Hit:
    size = norm_of(run.incoming) or 0.0
    dtypes = [value.dtype for value in [*call.inputs, *call.outputs]]
    dtype = next(each for each in dtypes if each in _HALVES)
    zeros = [each for each in run.outgoing if each is not None and _mostly_zero(each)]
    off, by = _switched_off(history, backward) if dtype == "float16" else None, ""
    fix = "Scale the loss up before backward() and the gradients down before the step "
    fix += "(`torch.amp.GradScaler`), or compute this in float32 or bfloat16."
    if off is not None:
        by = (
            f" `{off.text}` in {history.line(off.site)} leaves the scaler switched off."
        )
        fix = "Enable the scaler wherever float16 is used, also on this device."
    return Hit(
        f"Gradients become 0, because they are too small for {dtype}: "
        f"{zeros[0].zeros} of the {zeros[0].count} elements that "
        f"{history.quoted(node.site)} gives back are exactly 0, where a gradient of "
        f"norm {size:.2g} came in ({node.name}).{by}",
        culprit=node.site if off is None else off.site,
        line=None if off is None else off.line,
        fix=fix,
        symptom=backward.site,
        related=(
            Related("too small here", None if off is None else node.site),
            *_made_small(history, backward, run),
            Related("pass begun here", backward.site),
        ),
        nodes=(node.key,),
        certainty=0.9,
    )


def _switched_off(history: History, backward: Backward) -> Decision | None:
    """Return what switched off the scaler that the code around a pass asks to scale."""
    if any(history.of(ScalerCall)):
        return None
    where = spot(history, backward.site, backward.stack)
    for level in () if where is None else levels(where):
        for each in own_nodes(level.scope):
            match each:
                case ast.Call(ast.Attribute(owner, "scale"), [_]):
                    made = path(level.at(owner))[-1]
                case _:
                    continue
            if called(made.node) == "GradScaler":
                said = given(made, None, ("enabled",))
                chosen = made if said is None else path(said)[-1]
                return decided(history, chosen, backward.site)
    return None


def _made_small(
    history: History, backward: Backward, last: NodeRun
) -> Iterator[Related]:
    """Yield the line that shrank the gradient most on its way to an underflow."""
    least, found = _SHRUNK, None
    for run in takewhile(lambda each: each is not last, backward.runs):
        incoming, outgoing = norm_of(run.incoming), norm_of(run.outgoing)
        if incoming and outgoing and outgoing < least * incoming:
            least, found = outgoing / incoming, history.node(run.node)
    if found is not None:
        yield Related("made small here", found.site)
