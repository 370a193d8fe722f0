"""``torch.tensor(t)`` copies the numbers of a tensor and forgets its graph.

What it does
    Finds ``torch.tensor``, ``torch.as_tensor`` and ``new_tensor`` calls on the way to a
    root that were given tensors with a graph, where the leaves behind get no gradient.

Why is this bad
    The constructor makes a new leaf. With ``requires_grad=True`` it even looks alive.

Example
    ::

        scale = torch.tensor(scale_net(x))
        loss = (scale * head(x)).sum()

Use instead
    ::

        scale = scale_net(x)
        loss = (scale * head(x)).sum()

When it stays quiet
    Copies for logs and metrics, and leaves that are reached by another path.

References
    https://pytorch.org/docs/stable/generated/torch.tensor.html
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.edits.leaves import given_to_constructor, tensor_itself
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History, Value

_FIX = (
    "Use the tensor itself; `torch.stack` or `torch.cat` for several, `.clone()` for a "
    "copy, `.to()` for another dtype or device."
)


@cut_rule("GV307", "tensor-copy-construct", "copy")
def words(history: History, cut: Cut) -> Words:
    call, source = cut.call, cut.crossings[0].source
    name = history.name(source, "a tensor")
    given = (*call.arguments, None)[0]
    written = given_to_constructor(history, call.site) if _is_list(given) else None
    return Words(
        f"`{call.op}()` in {history.line(call.site)} copies the values of {name} only: "
        "the new tensor has no graph.",
        _FIX if written is None else f"Keep tensors: `torch.stack({written})`.",
        call.site,
        edit=tensor_itself(call.site, several=not isinstance(given, Value)),
    )


def _is_list(given: object) -> bool:
    """Tell whether tensors are given, and nothing else among them."""
    return isinstance(given, tuple) and all(isinstance(e, Value) for e in given)
