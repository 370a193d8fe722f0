"""A value goes through NumPy and comes back without its graph.

What it does
    Follows ``.numpy()`` of values with a graph into ``torch.from_numpy`` or
    ``torch.tensor`` on the way to a root, where the leaves behind get no gradient.

Why is this bad
    NumPy records nothing. PyTorch's advice to write ``.detach().numpy()`` removes the
    error and the gradient together.

Example
    ::

        hidden = torch.from_numpy(np.tanh(encoder(x).detach().numpy()))

Use instead
    ::

        hidden = torch.tanh(encoder(x))

When it stays quiet
    Plots, metrics and replay buffers: what is exported and does not come back into the
    loss, or comes back beside a path that reaches the leaves.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.edits.leaves import picked_from_tensor
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History

_FIX = (
    "Compute this part with torch, from the tensor itself, without `.data` and "
    "`.detach()`."
)


@cut_rule("GV309", "numpy-roundtrip", "array")
def words(history: History, cut: Cut) -> Words:
    export, entry = cut.detour.export, cut.detour.entry
    return Words(
        f"`{history.text(export.site)}` makes a NumPy array, which has no graph, and "
        f"the values come back in {history.line(entry.site)} as constants.",
        _FIX,
        export.site,
        related=(Related("comes back as a constant", entry.site),),
        edit=picked_from_tensor(export.site),
    )
