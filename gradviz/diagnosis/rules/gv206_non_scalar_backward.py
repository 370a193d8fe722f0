"""A backward pass starts from a result of several elements.

What it does
    Finds backward passes from a result of several elements without a ``gradient=``, and
    names the line that made it, with what would have reduced it. Where a loss of the
    program's own left that out because of a setting, or was given a function that
    reduces some dimensions only, the line that chose this.

Why is this bad
    A gradient is that of one number. Of many numbers, autograd needs to know how much
    each of them counts.

Example
    ::

        loss = F.mse_loss(prediction, target, reduction="none")
        loss.backward()

Use instead
    ::

        loss = F.mse_loss(prediction, target)
        loss.backward()

When it stays quiet
    Where the root has one element, or ``gradient=`` is given.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import name_of as name_of_op
from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.decision import Decision, against, of_function
from gradviz.diagnosis.edits.calls import followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import failed_backwards, made_at, name_of
from gradviz.program import Backward, Call, History, RawSite, Value

_REDUCTIONS = words("mean sum nanmean nansum logsumexp norm amax prod")
_SENTENCE = "grad can be implicitly created only for"


@rule("GV206", "non-scalar-backward", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per backward pass from a result that is no scalar."""
    for backward in failed_backwards(history, _SENTENCE):
        root = _culprit_root(backward)
        if root is None:
            continue
        made = _made(history, root, backward)
        name = name_of(history, root, "the result")
        unreduced = _unreduced(history, root)
        made_by = f" in {history.line(made)}" if made else ""
        at_once = unreduced is not None and unreduced == made
        reason = " with reduction='none'" if at_once else ""
        asks = backward.api == "grad" and unreduced is None and not _sums(history, root)
        message, fix = _several(root, f"{made_by}{reason}", backward)
        if _is_complex(root):
            message, fix = _complex(root, made_by)
        chosen = None if _is_complex(root) else _chosen(history, root, backward)
        by = ""
        if chosen is not None:
            by = f" `{chosen.text}` in {history.line(chosen.site)} chose that."
        culprit = backward.site if made is None or asks else made
        yield Hit(
            f"{name} {message}{by}",
            culprit if chosen is None else chosen.site,
            fix,
            symptom=backward.site,
            related=(
                Related("not reduced", unreduced),
                Related("backward pass", backward.site),
                Related("made here", made if asks or chosen else None),
            ),
            tensors=(root.tensor,),
            explains=history.ended_by(backward),
            line=None if chosen is None else chosen.line,
            edit=None
            if chosen is not None or _is_complex(root) or backward.api == "grad"
            else followed_by(made or backward.site, ".mean()"),
        )


def _several(root: Value, made: str, backward: Backward) -> tuple[str, str]:
    ones = "torch.ones_like(...)"
    weigh = f"backward(gradient={ones})"
    if backward.api == "grad":
        weigh = f"grad_outputs={ones}"
    message = (
        f"has shape {root.shape}: it was made{made}, and nothing made one number of "
        "it. A backward pass starts from one number."
    )
    return message, (
        "Reduce it, with `.mean()` or `.sum()` or `reduction='mean'`; or say how much "
        f"each element counts: `{weigh}`."
    )


def _complex(root: Value, made: str) -> tuple[str, str]:
    message = (
        f"is {root.dtype}, of shape {root.shape}: it was made{made}. A backward pass "
        "starts from one real number: of complex ones none is the smallest."
    )
    return message, (
        "Make a real number of it: `.abs()`, `.abs() ** 2` or `.real`, and then "
        "`.mean()` or `.sum()`; or give `backward()` a gradient of its dtype."
    )


def _is_complex(value: Value) -> bool:
    return value.dtype.startswith("complex")


def _culprit_root(backward: Backward) -> Value | None:
    given = [*backward.gradients, *[None] * len(backward.roots)]
    for root, gradient in zip(backward.roots, given, strict=False):
        several = any(size != 1 for size in root.shape)
        if gradient is None and (several or _is_complex(root)):
            return root
    return None


def _made(history: History, root: Value, backward: Backward) -> RawSite | None:
    """Return the line that made the root, in the function that calls backward().

    A mean or sum over some dimensions only is the line itself, wherever it is.
    """
    maker = _maker(history, root)
    if maker is None:
        return made_at(history, root)
    if _sums(history, root):
        return maker.site
    around = {site[0] for site in backward.frames}
    for site in maker.frames:
        if site[0] in around:
            return site
    return maker.site


def _chosen(history: History, root: Value, backward: Backward) -> Decision | None:
    """Return the setting by which a function of the program's own did not reduce.

    Or reduced some dimensions only: who gave it the function, with these dimensions.
    """
    maker, around = _maker(history, root), {site[0] for site in backward.frames}
    if maker is not None and _sums(history, root):
        bound = of_function(history, maker, ())
        return bound if bound.is_elsewhere and "(" in bound.text else None
    inside = () if maker is None else maker.frames
    for place, site in enumerate(inside):
        if site[0] in around:
            return None
        found = against(history, site, inside[place + 1 :], _REDUCTIONS)
        if found is not None:
            return found
    return None


def _maker(history: History, root: Value) -> Call | None:
    node = history.node(root.node)
    return None if node is None else history.maker(node)


def _sums(history: History, root: Value) -> bool:
    """Tell whether a root was reduced, but not to one number."""
    maker = _maker(history, root)
    return maker is not None and name_of_op(maker) in _REDUCTIONS


def _unreduced(history: History, root: Value) -> RawSite | None:
    """Return the line that asked for a loss without reduction, if one did."""
    behind = history.behind([root])
    for call in reversed(history.calls):
        asked = call.keywords.get("reduction") == "none"
        if asked and any(value.tensor in behind for value in call.outputs):
            return call.site
    return None
