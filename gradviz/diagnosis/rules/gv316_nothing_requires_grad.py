"""Nothing that the loss was computed from requires grad.

What it does
    Explains a backward pass whose root has no graph where no call cut one off: no
    tensor behind it ever required grad.

Why is this bad
    ``requires_grad`` is False for every tensor that is not a parameter, unless it is
    asked for.

Example
    ::

        weight = torch.ones(3)
        (weight * x).sum().backward()

Use instead
    ::

        weight = torch.ones(3, requires_grad=True)
        (weight * x).sum().backward()

When it stays quiet
    Where a leaf behind the root requires grad: then a cut is to blame.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from gradviz.dependence import learning
from gradviz.dependence.cuts import cuts, is_dead
from gradviz.diagnosis.edits.leaves import asks_for_gradients, attribute_named
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import set_where
from gradviz.program import Backward, Call, History


@rule("GV316", "nothing-requires-grad", "error")
def check(history: History) -> Iterator[Hit]:
    explained = {cut.backward.index for cut in cuts(history)}
    for backward in history.backwards:
        if (
            is_dead(backward)
            and backward.index not in explained
            and history.ended_by(backward)
            and not any(root.requires_grad for root in backward.roots)
        ):
            yield from _hits(history, backward)


def _hits(history: History, backward: Backward) -> Iterator[Hit]:
    behind = history.behind(backward.roots, backward.index)
    if any(_ever_required(history, tensor) for tensor in behind):
        return
    made = [_made(history, tensor) for tensor in behind]
    makers = sorted((each for each in made if each), key=lambda call: call.index)
    if not makers:
        return
    names = [history.name(call.outputs[0], "") for call in makers]
    shown = learning.joined([name for name in names if name]) or "the tensors"
    slip, switch = set_where(
        history,
        lambda each: f"`{ast.unparse(each.value)}`" in names and _is_slip(each.attr),
    )
    no = "" if switch is None else f" `{ast.unparse(switch)}` is no switch of a tensor."
    yield Hit(
        f"The result depends on no tensor that requires grad: {shown} did not ask for "
        f"it.{no}",
        slip or makers[-1].site,
        "Create the tensor that is to be learned with `requires_grad=True`, or as "
        "an `nn.Parameter`.",
        symptom=backward.site,
        related=tuple(Related("created here", call.site) for call in makers[:-1]),
        explains=True,
        line=None if switch is None else switch.lineno,
        edit=attribute_named(slip, "requires_grad", switch.lineno)
        if slip is not None and switch is not None
        else (asks_for_gradients(makers[0].site) if len(makers) == 1 else None),
        certainty=0.5,
    )


def _is_slip(attribute: str) -> bool:
    """Tell whether an attribute is ``requires_grad``, but for a letter or two.

    >>> _is_slip("require_grad"), _is_slip("requires_grad"), _is_slip("grad")
    (True, False, False)
    """
    right = "requires_grad"
    return attribute != right and bool(get_close_matches(attribute, [right], 1, 0.85))


def _ever_required(history: History, tensor: int) -> bool:
    facts = history.program.tensors.get(tensor)
    if facts is not None and facts.is_parameter:
        return True  # frozen: another rule says since when
    return any(
        value.requires_grad
        for call in history.uses(tensor)
        for value in call.inputs
        if value.tensor == tensor
    )


def _made(history: History, tensor: int) -> Call | None:
    """Return the factory call that made a floating-point tensor, if one did."""
    call = history.producer(tensor)
    if call is None or call.inputs or not call.outputs:
        return None
    return call if call.outputs[0].dtype.startswith(("float", "bfloat")) else None
