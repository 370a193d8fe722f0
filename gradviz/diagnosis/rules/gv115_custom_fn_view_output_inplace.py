"""GV115 custom-fn-view-output-inplace: a view from a custom Function was written.

What it does
    Finds the in-place operation on the result of an ``autograd.Function`` whose
    ``forward`` returned a view of its input, or the input itself, and names the
    ``return``.

Why is this bad
    A write to the view would replace its history with that of its base, and the
    Function's own ``backward`` would be skipped. Autograd refuses.

Example
    def forward(ctx, x):
        return x[:2]

    y = FirstHalf.apply(h)
    y.mul_(2)

Use instead
    def forward(ctx, x):
        return x[:2].clone()

When it stays quiet
    When the result is not written in place, or is memory of its own. Where ``forward``
    has written its input without ``ctx.mark_dirty``: then that is to blame.

References
    PyTorch notes: Extending PyTorch, "Extending torch.autograd".
    PyTorch documentation: torch.autograd.Function, Tensor Views.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType

from gradviz.diagnosis._refused import MADE_IN_FUNCTION, hit, refused, subject
from gradviz.diagnosis._words import code, place
from gradviz.diagnosis.custom_functions import unmarked_writes
from gradviz.diagnosis.edits.leaves import value_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite, Value

HOOKED = "BackwardHookFunction"

_NAMED = re.compile(r"Output \d+ of (\w+)")


@rule("GV115", "custom-fn-view-output-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, made in refused(history, *MADE_IN_FUNCTION):
        if HOOKED in failure.text:
            continue
        if any(each.is_of(written) for each in unmarked_writes(history)):
            continue  # told to autograd, the write would make it no view
        name, forward = _function(history, failure.text, written)
        returned = None if forward is None else _return(history, forward)
        made_by = f"`{name}`" if name else "a custom Function"
        quoted = f": {place(history, returned)}" if returned is not None else ""
        yield hit(
            failure,
            f"{subject(history, written)} is a view that {made_by} made of its input, "
            f"or the input itself{quoted}. {place(history, failure.site)} writes it in "
            "place: that would skip the Function's own backward, so it is refused.",
            _fix(history, returned),
            culprit=returned,
            line=None if returned is None else history.places.line(returned),
            related=[
                Related("written here", failure.site),
                Related("applied here", None if made is None else made.site),
            ],
            written=written,
            edit=value_followed_by(returned, ".clone()"),
        )


def _fix(history: History, returned: RawSite | None) -> str:
    text = code(history, returned)
    if not text.startswith("return "):
        return "Return a copy from forward: `.clone()`."
    value = text.removeprefix("return ")
    simple = isinstance(
        ast.parse(value, mode="eval").body,
        ast.Name | ast.Subscript | ast.Call | ast.Attribute,
    )
    return f"Return a copy: `return {value if simple else f'({value})'}.clone()`."


def _function(
    history: History, error: str, written: Value | None
) -> tuple[str, CodeType | None]:
    """Return name and forward of the custom Function that made a tensor."""
    node = None if written is None else history.node(written.node)
    while node is not None:
        if node.custom is not None:
            return node.custom.name, node.custom.forward
        after = node.next[0] if node.next else None
        node = None if after is None else history.node(after[0])
    named = _NAMED.search(error)
    name = named[1].removesuffix("Backward") if named else ""
    for node in history.program.nodes.values():
        if node.custom is not None and node.custom.name == name:
            return name, node.custom.forward
    for call in history.calls:  # a call inside of its forward
        for site in call.frames:
            if site[0].co_qualname.endswith(f"{name}.forward"):
                return name, site[0]
    return name, None


def _return(history: History, forward: CodeType) -> RawSite | None:
    """Return the place of the ``return`` in forward; of several, the likeliest."""
    function = history.places.function(forward)
    returns = [
        each
        for each in ast.walk(function or ast.Module([], []))
        if isinstance(each, ast.Return) and each.value is not None
    ]
    if not returns:
        return None
    returns.sort(key=lambda each: (_copies(each.value), -each.lineno))
    return history.places.at_line(forward, returns[0].lineno)


def _copies(value: ast.expr | None) -> bool:
    """Does an expression plainly make new memory?"""
    if isinstance(value, ast.BinOp | ast.UnaryOp):
        return True
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "clone"
    )
