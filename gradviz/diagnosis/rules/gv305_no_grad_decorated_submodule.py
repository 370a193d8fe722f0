"""A function decorated with ``@torch.no_grad()`` computes a part of the loss.

What it does
    Finds operations on the way to a root that ran inside a function with a decorator
    that switches gradients off, or wrapped as in ``torch.no_grad()(function)``, where
    the leaves they used get no gradient; or none from a term of the loss that compares
    something in such a function.

Why is this bad
    The decorator is not seen where the function is called: the call looks like any
    other layer, yet its parameters stay as they were initialised.

Example
    ::

        class Encoder(nn.Module):
            @torch.no_grad()
            def forward(self, x):
                return self.linear(x)

Use instead
    ::

        class Encoder(nn.Module):
            def forward(self, x):
                return self.linear(x)

When it stays quiet
    Decorated evaluation and sampling functions, updates of moving averages, and
    encoders that no optimizer steps beside others that one does. Terms that are
    subtracted, or hold a number for each sample: baselines and the like.

References
    https://pytorch.org/docs/stable/generated/torch.no_grad.html
"""

from __future__ import annotations

import ast

from gradviz.dependence.cuts import Cut
from gradviz.dependence.modes import decorator, wrapped
from gradviz.diagnosis.edits.statements import undecorated
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV305", "no-grad-decorated-submodule", "decorator")
def words(history: History, cut: Cut) -> Words:
    switch = cut.switch
    assert switch is not None
    assert switch.function is not None
    name = switch.function.co_qualname
    mark = decorator(history, switch)
    assert mark is not None
    what, remove = f"The decorator of `{name}`", f"Remove the decorator from `{name}`"
    if wrapped(mark):
        what = f"`{ast.unparse(mark)}` around `{name}`"
        remove = f"Leave `{name}` as it is"
    inside = any(code is switch.function for code, _ in cut.backward.frames)
    return Words(
        f"{what} in line {mark.lineno} switches gradients off: "
        f"`{history.text(cut.call.site)}` ran without a graph.",
        f"{remove}, and put nothing like it around its call: "
        f"{history.line(cut.backward.site)} asks for gradients inside of it. Or let "
        "`with torch.enable_grad():` hold all that this needs."
        if inside
        else f"{remove}; use `with torch.no_grad():` where it is called for "
        "evaluation.",
        (switch.function, 0),
        mark.lineno,
        (
            Related("called here", switch.site),
            Related("ran without gradients", cut.call.site),
        ),
        edit=undecorated((switch.function, 0), mark.lineno),
    )
