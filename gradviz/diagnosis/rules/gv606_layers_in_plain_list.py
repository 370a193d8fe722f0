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
from gradviz.diagnosis.rules._hidden_layers import OF, untrained
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import History, Module, RawSite

_SINGLE = ("Tensor", "Parameter")


@rule("GV606", "layers-in-plain-list", "warning")
def check(history: History) -> Iterator[Hit]:
    for module, attribute, container, lost in untrained(history):
        yield _hit(history, module, attribute, container, lost)


def _hit(
    history: History, module: Module, attribute: str, container: str, lost: set[int]
) -> Hit:
    made = made_at(history, min(lost))
    line = _assigned(history, made or module.site, attribute)
    outer, _, classes = container.partition(OF)
    layers = any(learning.parameters(history).get(each) for each in lost)
    instead = _instead(outer, layers=layers)
    fix = f"Make `self.{attribute}` an `{instead}`, which registers what it holds."
    if container in _SINGLE:
        fix = f"Make `self.{attribute}` an `nn.Parameter`."
    if classes:
        fix = f"Make `{classes}` an `nn.Module`"
        fix += f", and the {outer} an `{instead}`." if outer != "object" else "."
    culprit = made or module.site
    return Hit(
        _message(module, attribute, container, len(lost), layers=layers),
        culprit,
        fix,
        related=(
            Related(
                "layer created here" if layers else "tensor created here",
                made if line is not None else None,
            ),
        ),
        tensors=tuple(sorted(lost)),
        line=line,
        edit=None if classes else registered(culprit, instead, line),
    )


def _message(
    module: Module, attribute: str, container: str, count: int, *, layers: bool
) -> str:
    """Tell what is never trained, and why the module does not know of it."""
    if container in _SINGLE:
        return (
            f"`self.{attribute}` of {module.kind} is never trained: a plain tensor is "
            f"not in the `parameters()` of {module.kind}, so no optimizer was given "
            f"it. Backward computes its gradient for nothing."
        )
    what = "layers" if layers else "tensors"
    tensors = learning.plural(count, "parameter", "parameters")
    kind = f"a plain {container}"
    if OF in container:
        outer, _, classes = container.partition(OF)
        kind = f"a {classes}" if outer == "object" else kind
        kind += ", which is not an `nn.Module`"
    return (
        f"The {what} in `self.{attribute}` of {module.kind} are never trained: "
        f"`self.{attribute}` is {kind}, so its {count} {tensors} "
        f"{learning.plural(count, 'is', 'are')} not in `parameters()`, and no "
        f"optimizer holds {learning.plural(count, 'it', 'them')}."
    )


def _instead(outer: str, *, layers: bool) -> str:
    """Return what registers the things that a plain container holds."""
    if outer in _SINGLE and not layers:
        return "nn.Parameter"
    kind = "Module" if layers else "Parameter"
    return f"nn.{kind}{'Dict' if outer.lower().endswith('dict') else 'List'}"


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
