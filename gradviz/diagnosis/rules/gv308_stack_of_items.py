"""Numbers taken out with ``.item()`` come back into the loss as constants.

What it does
    Follows ``item()``, ``tolist()`` and ``float()`` of tensors with a graph into
    ``torch.tensor(...)`` or arithmetic on the way to a root, where the leaves behind
    get no gradient.

Why is this bad
    A Python number has no graph: the loss depends on the parameters only through
    constants, and nothing says so.

Example
    ::

        log_probs = torch.tensor([each.item() for each in log_probs])

Use instead
    ::

        log_probs = torch.stack(log_probs)

When it stays quiet
    Numbers for logs, progress bars and early stopping, weights of a loss whose leaves
    are reached by another path.

References
    https://github.com/isayev/ReLeaSE/issues/39
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.dependence.flow import name_of
from gradviz.diagnosis.edits.leaves import (
    given_to_constructor,
    kept_as_tensors,
    tensor_itself,
)
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History

_FIX = (
    "Keep tensors: `torch.stack` makes one of a list of them. Use `.item()` only for "
    "what is printed or logged."
)
_FIXES = {
    "tolist": "Use the tensor itself, and `.clone()` for a copy of it. Use `.tolist()` "
    "only for what is printed or logged."
}


@cut_rule("GV308", "stack-of-items", "numbers")
def words(history: History, cut: Cut) -> Words:
    export, entry = cut.detour.export, cut.detour.entry
    given = given_to_constructor(history, export.site)
    if given is not None:
        return Words(
            f"`{history.text(export.site)}` turns the tensors of `{given}` into "
            "numbers: what it makes of them is a constant.",
            f"Keep tensors: `torch.stack({given})`.",
            export.site,
            edit=tensor_itself(export.site, several=True),
        )
    fix = _FIXES.get(name_of(export), _FIX)
    back = f"they come back in {history.line(entry.site)}"
    if history.line(export.site) == history.line(entry.site):
        back = "they come back in the same line"
    return Words(
        f"`{history.text(export.site)}` turns values with a graph into Python numbers, "
        f"and {back} as constants.",
        fix,
        export.site,
        related=(Related("comes back as a constant", entry.site),),
        edit=kept_as_tensors(export.site, entry.site),
    )
