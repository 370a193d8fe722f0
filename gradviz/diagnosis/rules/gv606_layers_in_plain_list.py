"""Layers in a Python list or dict are not part of their module.

What it does
    Finds trainable tensors in plain containers and objects of a module (or as plain
    tensor attributes) that a backward pass reaches and no optimizer knows.

Why is this bad
    ``parameters()``, ``to()`` and ``state_dict()`` see only what is registered. Such
    layers get gradients and are never updated, moved or saved.

Example
    ::

        self.hidden = [nn.Linear(64, 64) for _ in range(3)]

Use instead
    ::

        self.hidden = nn.ModuleList(nn.Linear(64, 64) for _ in range(3))

When it stays quiet
    Layers whose parameters are given to an optimizer by hand, and those that are
    hidden on purpose: frozen teachers that no gradient reaches. In objects, layers
    that were not made with the module, or are in eval mode.

References
    https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.leaves import registered
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import History, Module, RawSite

_INSTEAD = {
    "list": "nn.ModuleList",
    "tuple": "nn.ModuleList",
    "dict": "nn.ModuleDict",
}


_SINGLE = ("Tensor", "Parameter")
_FOR_TENSORS = {"dict": "nn.ParameterDict", **dict.fromkeys(_SINGLE, "nn.Parameter")}
_OF = " of "  # a list of objects


@rule("GV606", "layers-in-plain-list", "warning")
def check(history: History) -> Iterator[Hit]:
    for module in history.program.modules.values():
        for attribute, container, tensors in module.hidden:
            lost = unstepped(history).intersection(tensors)
            if _OF in container:
                lost = {each for each in lost if _is_part(history, module, each)}
            if lost:
                yield _hit(history, module, attribute, container, lost)


def _hit(
    history: History, module: Module, attribute: str, container: str, lost: set[int]
) -> Hit:
    made = made_at(history, min(lost))
    line = _assigned(history, made or module.site, attribute)
    count = len(lost)
    kind = "tensor" if container in _SINGLE else f"plain {container}"
    outer, _, classes = container.partition(_OF)
    layers = any(learning.parameters(history).get(each) for each in lost)
    instead = (
        _INSTEAD.get(outer, "nn.ModuleList")
        if layers
        else _FOR_TENSORS.get(outer, "nn.ParameterList")
    )
    fix = f"Use `{instead}`, which registers what it holds."
    if classes:
        fix = f"Make `{classes}` an `nn.Module`"
        fix += f", and the {outer} an `{instead}`." if outer != "object" else "."
    culprit = made or module.site
    return Hit(
        f"`self.{attribute}` of {module.kind} is a {kind}: {count} trainable "
        f"{learning.plural(count, 'tensor', 'tensors')} in it "
        f"{learning.plural(count, 'is', 'are')} not in `parameters()`. "
        "The loss reaches them, but the optimizer never sees them.",
        culprit,
        fix,
        related=(Related("created here", made if line is not None else None),),
        tensors=tuple(sorted(lost)),
        line=line,
        edit=None if classes else registered(culprit, instead, line),
    )


def _is_part(history: History, module: Module, tensor: int) -> bool:
    """Tell whether the layer of a parameter was made with a module, and trains."""
    layer = learning.module_of(history, tensor)
    around = (module.site, *module.stack)
    made_in = () if layer is None else layer.stack[-len(around) :]
    return layer is not None and layer.training and made_in == around


def _assigned(history: History, site: RawSite | None, attribute: str) -> int | None:
    """Return the line that sets the attribute, in a site's function or file."""
    places = history.places
    for each in (*places.in_function(site), *places.in_file(site)):
        if isinstance(each, ast.Assign | ast.AnnAssign):
            plain = isinstance(each, ast.Assign)
            for target in each.targets if plain else [each.target]:
                if isinstance(target, ast.Attribute) and target.attr == attribute:
                    return each.lineno
    return None
