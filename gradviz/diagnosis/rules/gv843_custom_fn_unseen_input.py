"""A custom Function uses a parameter that is no input of ``apply``.

What it does
    Finds Functions of the user whose forward takes parameters from a module, a closure
    or a global, where these parameters never get a gradient.

Why is this bad
    Autograd knows the tensors that are given to ``apply``, and no others: what backward
    returns is only for them. The forward is right, nothing is raised, and the parameter
    stays as it was initialised.

Example
    ::

        @staticmethod
        def forward(ctx, x, layer):
            ctx.layer = layer
            return x * layer.gain

        y = Scale.apply(x, layer)

Use instead
    ::

        @staticmethod
        def forward(ctx, x, gain):
            ctx.save_for_backward(x, gain)
            return x * gain

        y = Scale.apply(x, layer.gain)

When it stays quiet
    Frozen parameters, those that get a gradient by another way (a pass inside backward,
    as in a checkpoint, or ``.grad``), that the program changes itself or that no
    optimizer steps; in a run without one, those whose ``.grad`` the program does not
    take. Those that forward takes detached or uses only for their shape.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.decision import of_unpacked
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._unseen_inputs import unseen_inputs
from gradviz.program import History


@rule("GV843", "custom-fn-unseen-input", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per Function."""
    for each in unseen_inputs(history):
        apply, use = each.apply, each.uses[0]
        chosen = of_unpacked(history, apply)
        used = learning.listed(history, [value.tensor for value in each.values])
        lost = learning.listed(history, each.lost)
        outside = learning.plural(
            len(each.values), "is not an argument", "are not arguments"
        )
        where = f"{apply.op}.apply(...)"
        place = f"`{where}` in {history.line(apply.site)}"
        if chosen.is_elsewhere and chosen.text:
            place = f"`{chosen.text}` in {history.line(chosen.site)}"
        yield Hit(
            f"No gradient reaches {lost}: `{apply.op}.forward` uses {used}, which "
            f"{outside} of `{where}`. Autograd follows only the arguments.",
            chosen.site,
            f"Add {used} to {place}, and let `backward` return one gradient for "
            "each argument.",
            symptom=each.backward.site,
            related=(
                Related("used without being an argument", use.site),
                Related("Function applied here", chosen.made),
            ),
            nodes=apply.nodes,
            tensors=tuple(sorted(each.lost)),
            explains=history.ended_by(each.backward),
            line=chosen.line,
            certainty=0.8,
        )
