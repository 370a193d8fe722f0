"""``module.requires_grad = False`` sets an attribute that nobody reads.

What it does
    Finds switches set as plain attributes (``requires_grad`` on a module, a misspelled
    one on a parameter) while the parameters go on as before.

Why is this bad
    A module has no such switch: its parameters keep their ``requires_grad``. What
    should be frozen is trained, and the other way round.

Example
    ::

        net.body.requires_grad = False

Use instead
    ::

        net.body.requires_grad_(False)

When it stays quiet
    Attributes that a class sets on itself, and modules whose parameters are frozen
    as the attribute says.

References
    https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradviz.dependence import learning
from gradviz.diagnosis.edits.leaves import attribute_named, switched_by_call
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._origins import assigned, made_at
from gradviz.program import History, Module, RawSite


@rule("GV608", "freeze-attribute-typo", "warning")
def check(history: History) -> Iterator[Hit]:
    trained = learning.trained(history)
    for module in history.program.modules.values():
        inside = learning.all_parameters(history, module)
        for attribute, site in module.odd.items():
            learns = bool(inside & trained)
            asked = _written(history, site)[1] == "True"  # most say False
            if inside and asked != learns:
                hit = _hit(history, module, attribute, site, inside)
                how = "is still trained" if learns else "is not trained"
                yield replace(hit, message=f"{_owner(module)} {how}: {hit.message}")


def _written(history: History, site: RawSite | None) -> tuple[str, str]:
    """Return the module as the assignment calls it, and what it sets; "" if lost."""
    match history.places.statement(site):
        case ast.Assign([ast.Attribute(module), *_], value):
            return ast.unparse(module), ast.unparse(value)
        case _:
            return "", ""


def _owner(module: Module) -> str:
    return f"`{module.name}` ({module.kind})" if module.name else f"the {module.kind}"


def _hit(
    history: History,
    module: Module,
    attribute: str,
    site: RawSite | None,
    inside: set[int],
) -> Hit:
    parameter, _, switch = attribute.rpartition(".")
    if parameter:
        culprit, line = assigned(history, switch)
        return Hit(
            f"`{switch}` is not an attribute of tensors, so setting it does nothing.",
            culprit or site or made_at(history, min(inside)),
            "Spell it `requires_grad`.",
            tensors=tuple(sorted(inside)),
            line=line,
            edit=attribute_named(culprit or site, "requires_grad", line),
        )
    culprit = site or made_at(history, min(inside))
    written, value = _written(history, site)
    wanted = value == "True"
    return Hit(
        f"`{written or module.name or 'module'}.{attribute} = …` on an `nn.Module` "
        f"only sets a plain attribute. The {len(inside)} parameters keep "
        f"`requires_grad={not wanted}`.",
        culprit,
        edit=switched_by_call(culprit),
        fix=f"Call the method: `{written or module.name or 'module'}"
        f".requires_grad_({value or wanted})`.",
        tensors=tuple(sorted(inside)),
    )
