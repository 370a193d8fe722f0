"""A loop over parameters gives its own variable another value, and changes nothing.

What it does
    Finds ``for`` loops over parameters, buffers or gradients whose whole body assigns
    to the loop's variables, where nothing reads these afterwards.

Why is this bad
    ``param = value`` makes the name stand for something else; the tensor that it stood
    for stays as it was. Weights are neither copied, nor clipped, nor averaged, and
    nothing fails. Where the gradient of such values is asked for, a copy would have no
    history either: ``torch.func.functional_call(net, values, inputs)`` takes them.

Example
    ::

        for slow, fast in zip(target.parameters(), model.parameters()):
            slow = fast

Use instead
    ::

        with torch.no_grad():
            for slow, fast in zip(target.parameters(), model.parameters()):
                slow.copy_(fast)

When it stays quiet
    Bodies that do anything else, calls that may change what they are given, and
    variables that are read behind the assignment.

References
    https://docs.python.org/3/reference/simple_stmts.html#assignment-statements
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.edits.training import called_with
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._rebinding_loops import Rebinding, rebindings
from gradviz.program import Backward, History


@rule("GV673", "loop-only-rebinds", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loop that does nothing."""
    for each in rebindings(history):
        found = _hit(history, each)
        if each.failed is not None:
            found = _ended(history, each, found, each.failed)
        yield found


def _hit(history: History, each: Rebinding) -> Hit:
    return Hit(
        f"The loop in line {each.loop.lineno} changes no tensor: "
        f"`{ast.unparse(each.assign)}` only rebinds the name `{each.name}`. The "
        f"tensors of `{ast.unparse(each.loop.iter)}` keep their values"
        f"{_harm(each)}.",
        history.places.at_line(each.site[0], each.assign.lineno),
        f"Write into the tensor, under `torch.no_grad()`: `{_written(each)}`.",
        line=each.assign.lineno,
        certainty=0.85,
    )


def _harm(each: Rebinding) -> str:
    """Return ", so `kept` takes over nothing of `model.parameters()`"."""
    own, values = each.walked(each.name), _values(each)
    if own is None or not values:
        return ""
    return f", so `{ast.unparse(own)}` takes over nothing of `{values}`"


def _ended(history: History, each: Rebinding, found: Hit, failed: Backward) -> Hit:
    """Return the hit where a gradient of what was to be put in was asked for.

    A copy would end the exception no more than the loop does: it has no history.
    """
    root = name_of(history, failed.roots[0], "the result")
    lost = learning.listed(history, each.lost)
    model, values, call = _model(each), _values(each), _call(each)
    inputs, instead = "inputs", ""
    if call is not None:
        inputs = ast.unparse(ast.Tuple(call.args, ast.Load()))
        instead = f" in the place of `{ast.unparse(call)}`"
    new = f"torch.func.functional_call({model or 'model'}, parameters, {inputs})"
    return replace(
        found,
        message=f"{found.message} So {root} does not depend on {lost}, whose gradient "
        f"{history.line(failed.site)} asks for.",
        fix=f"Call `{new}`{instead}, with `{values or 'the values'}` by their names as "
        "`parameters`. A copy under `torch.no_grad()` would have no history: the error "
        "would stay.",
        symptom=failed.site,
        related=(Related("gradient asked for here", failed.site),),
        tensors=tuple(sorted(each.lost)),
        explains=history.ended_by(failed),
        edit=None
        if call is None or not model or not values
        else called_with(each.site, each.loop, call, model, values),
    )


def _written(each: Rebinding) -> str:
    """Return the assignment as a write: ``p.copy_(q)`` for ``p = q``."""
    value = each.assign.value
    how = "fill_" if isinstance(value, ast.Constant) else "copy_"
    return f"{each.name}.{how}({ast.unparse(value)})"


def _model(each: Rebinding) -> str:
    """Return the module whose parameters the loop was to set, as it is written."""
    match each.walked(each.name):
        case ast.Call(func=ast.Attribute(value=model, attr="parameters")):
            return ast.unparse(model)
        case ast.Call(func=ast.Attribute(value=model, attr="named_parameters")):
            return ast.unparse(model)
        case _:
            return ""


def _values(each: Rebinding) -> str:
    """Return what the loop took the new values from, as it is written."""
    value = each.assign.value
    given = each.walked(value.id) if isinstance(value, ast.Name) else None
    return "" if given is None else ast.unparse(given)


def _call(each: Rebinding) -> ast.Call | None:
    """Return the one call of the module behind the loop."""
    model = _model(each)
    calls = [
        node
        for node in own_nodes(each.scope)
        if isinstance(node, ast.Call)
        and node.lineno > each.loop.lineno
        and ast.unparse(node.func) == model
    ]
    return calls[0] if len(calls) == 1 else None
