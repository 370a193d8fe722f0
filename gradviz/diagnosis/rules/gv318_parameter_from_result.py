"""A result is wrapped in ``nn.Parameter``, which forgets how it was computed.

What it does
    Finds parameters that a loss reaches and that were made of a result, or that one was
    written into, where the leaves behind the result get no gradient in the whole run.

Why is this bad
    ``nn.Parameter(t)`` is a new leaf over the memory of ``t``. The gradient ends there,
    in a tensor that is thrown away with the forward pass; what ``t`` was computed from
    stays as it was initialised.

Example
    ::

        def forward(self, x):
            scale = nn.Parameter(self.log_scale.exp())
            return scale * self.layer(x)

Use instead
    ::

        def forward(self, x):
            scale = self.log_scale.exp()
            return scale * self.layer(x)

When it stays quiet
    Where an optimizer steps the new parameter, as after a change of basis, where the
    leaves behind it learn by another path, and for copies of other parameters.

References
    https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.calls import unwrapped
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._rewrapped import rewraps
from gradviz.program import History


@rule("GV318", "parameter-from-result", "warning")
def check(history: History) -> Iterator[Hit]:
    for found in rewraps(history):
        names = learning.listed(history, found.lost)
        count = len(history.backwards)
        passes = f"none of {count} backward passes" if count > 1 else "no backward pass"
        if found.lost & learning.trained(history):
            passes = "no term of a loss that uses the new leaf"
        where = history.line(found.site)
        what = (
            f"`nn.Parameter` in {where} makes a new leaf of a result: the graph of "
            f"the result ends there, and {passes} can reach {names}. The gradient goes "
            "to the new leaf, which no optimizer knows."
        )
        fix = (
            "Use the result itself, without `nn.Parameter`. Parameters are made once, "
            "in `__init__`."
        )
        placed = history.places.statement(found.site)
        targets = placed.targets if isinstance(placed, ast.Assign) else []
        in_layer = any(isinstance(each, ast.Attribute) for each in targets)
        if in_layer:  # the place of a parameter refuses a result
            fix = (
                "Compute with the result itself, by the function of the layer "
                "(`F.linear`, `F.conv2d`) or `torch.func.functional_call`. Parameters "
                "are made once, in `__init__`."
            )
        if found.write is not None:
            name = history.name(found.write.inputs[0], "a parameter")
            what = (
                f"{where.capitalize()} writes a result into {name} as numbers: the "
                f"graph of the result ends there, and {passes} can reach {names}."
            )
            fix = (
                f"Compute with the result itself, not with {name}: "
                "`torch.func.functional_call` runs a layer with other weights."
            )
        yield Hit(
            what,
            found.site,
            fix,
            symptom=history.backwards[-1].site,
            related=(
                Related("still had a graph here", found.source.site),
                Related("used here", found.use.site),
            ),
            tensors=tuple(sorted(found.lost)),
            edit=None
            if found.write or in_layer
            else unwrapped(found.site, ("Parameter",)),
            certainty=0.9,
        )
