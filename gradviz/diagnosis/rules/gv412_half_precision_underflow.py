"""GV412: gradients too small for float16 become exact zeros.

What it does
    Finds derivatives in float16 or bfloat16 that turned gradients into zeros although
    their formula does not.
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

from collections.abc import Iterator

from gradviz.diagnosis.gradient_flow import norm_of
from gradviz.diagnosis.op_families import function_of
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Backward, Call
from gradviz.program.history import History
from gradviz.program.values import Node, NodeRun, Summary

_HALVES = ("float16", "bfloat16")
_SCALING = (
    "mul div mm bmm addmm linear mean sum to_copy pow matmul mv dot convolution "
    "native_layer_norm sigmoid tanh exp sqrt mse_loss baddbmm"
)

_SCALE = "Scale the loss that it begins with: `scaler.scale(loss).backward()`."


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
    if function_of(node.name) not in _SCALING.split():
        return False
    if not any(value.dtype in _HALVES for value in values):
        return False
    if any(value.summary is None or value.summary.zeros for value in call.inputs):
        return False  # a factor of 0 is no underflow
    incoming = [each for each in run.incoming if each is not None]
    outgoing = [each for each in run.outgoing if each is not None]
    return (
        bool(incoming)
        and not any(each.zeros or each.bad for each in incoming)
        and any(_mostly_zero(each) for each in outgoing)
    )


def _mostly_zero(summary: Summary) -> bool:
    return summary.count > 0 and 2 * summary.zeros > summary.count


def _hit(
    history: History, backward: Backward, node: Node, call: Call, run: NodeRun
) -> Hit:
    size = norm_of(run.incoming) or 0.0
    dtypes = [value.dtype for value in [*call.inputs, *call.outputs]]
    dtype = next(each for each in dtypes if each in _HALVES)
    zeros = [each for each in run.outgoing if each is not None and _mostly_zero(each)]
    return Hit(
        f"{node.name} of `{history.text(node.site)}` ({history.line(node.site)}) got a "
        f"gradient of norm {size:.2g} and returned exact zeros for {zeros[0].zeros} of "
        f"{zeros[0].count} elements: the result is too small for {dtype}.",
        culprit=node.site,
        fix="Scale the loss up before backward() and the gradients down before the "
        "step (`torch.amp.GradScaler`), or compute this in float32 or bfloat16.",
        symptom=backward.site,
        related=(Related("pass begun here", backward.site, _SCALE),),
        nodes=(node.key,),
        certainty=0.9,
    )


RULE = Rule("GV412", "half-precision-underflow", "warning", check)
