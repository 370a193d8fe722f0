"""A statement computes a tensor, and nothing takes it: the operand stays as it was.

What it does
    Finds calls and expressions that are a whole statement, give a new tensor, and read
    one that the program goes on with: ``scores.masked_fill(mask, -inf)``,
    ``F.relu(h)``, ``hidden.detach()``, ``loss / steps``.

Why is this bad
    Only the methods whose names end in ``_`` change the tensor that they are called on.
    All others give another one. The program runs, without the activation, the mask or
    the scale that its author sees in it.

Example
    ::

        scores = q @ k.transpose(1, 2)
        scores.masked_fill(mask, float("-inf"))
        return scores.softmax(-1) @ v

Use instead
    ::

        scores = q @ k.transpose(1, 2)
        scores = scores.masked_fill(mask, float("-inf"))
        return scores.softmax(-1) @ v

When it stays quiet
    The last expression of a notebook's cell; a model that is called for what it does
    and not for its result; operands that nothing reads any more, as when one tries out
    or times an operation; results that are one of the operands.

References
    https://docs.astral.sh/ruff/rules/useless-expression/
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradviz.dependence.dropped import dropped, unbound
from gradviz.dependence.nesting import modules_around
from gradviz.dependence.op_families import RESHAPES, plain
from gradviz.diagnosis.decisions.frames import loops_around, spot
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.edits.statements import bound_to_operand
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.program import Call, History, ModuleCall, Value


@rule("GV669", "result-not-kept", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per statement whose result is gone."""
    roots = {root.tensor for each in history.backwards for root in each.roots}
    losses = {call.index for call in dropped(history)}  # GV342 tells of those
    for call in unbound(history) if roots else ():
        operand = _operand(history, call, roots) if call.index not in losses else None
        if operand is not None and _says(history, call):
            yield _hit(history, call, operand)


def _says(history: History, call: Call) -> bool:
    """Tell whether a statement is this operation, not something that does it inside."""
    statement = history.places.statement(call.site)
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.BinOp | ast.UnaryOp):
        return True
    made = value.func if isinstance(value, ast.Call) else None
    if isinstance(made, ast.Attribute) and made.attr == "apply":
        made = made.value  # of a Function, whose name the operation has
    named = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
    layer = _called(history, call)
    if layer is not None:
        module = history.program.modules.get(layer.module)
        return module is not None and not (module.parameters or module.children)
    return plain(call.op) == plain(named)


def _called(history: History, call: Call) -> ModuleCall | None:
    """Return the module that the line of an operation calls, not one inside of it."""
    around = modules_around(history, call.module)
    here = [*takewhile(lambda each: each.site == call.site, around)]
    return here[-1] if here else None


def _operand(history: History, call: Call, roots: set[int]) -> Value | None:
    """Return what the statement read and the program still reads, or walks from."""
    waiting, seen = [*call.inputs], set[int]()
    for value in waiting:
        if value.tensor in seen:
            continue
        seen.add(value.tensor)
        later = history.uses(value.tensor, call.index)
        if value.tensor in roots or any(
            not same_line(each.site, call.site) for each in later
        ):
            return value
        made = history.producer(value, call.index)
        if made is not None and same_line(made.site, call.site):
            waiting += made.inputs
    return None


def _hit(history: History, call: Call, operand: Value) -> Hit:
    text, (receiver, turns) = history.text(call.site), _receiver(history, call)
    name = name_of(history, operand, f"`{receiver}`" if receiver else "its operand")
    # Another tensor under the name of a parameter would leave the model as it is.
    written = operand.is_leaf and operand.requires_grad and not call.grad_enabled
    spelt = operand_text(history, call.site) if written else ""
    custom = any(each.name == call.op for each in history.program.functions)
    if spelt:
        fix = f"Write the result into it, `{spelt}.copy_({text})`, or leave the line "
        fix += "out."
    elif turns:
        fix = f"Keep the results, `[{text} for {turns}]`, in place of what the loop "
        fix += "walks: another value of its variable is gone with the turn."
    else:
        bare = receiver or name.strip("`")
        fix = f"Keep the result, `{bare} = {text}`"
        fix += "." if custom else ", or leave the line out."
    what = f"{name} stays as it was, and the program goes on with that."
    if custom:
        what = f"its backward never runs, so its inputs learn nothing from it. {name} "
        what += "stays as it was."
    return Hit(
        f"`{text}` gives a new tensor, and nothing takes it: {what}",
        call.site,
        fix,
        tensors=(operand.tensor, call.outputs[0].tensor),
        # A new shape has no other use than to be taken.
        certainty=1.0 if plain(call.op) in RESHAPES else 0.8,
        edit=None if spelt or turns else bound_to_operand(call.site),
    )


def _receiver(history: History, call: Call) -> tuple[str, str]:
    """Return whose method a statement calls, and the loop of which that is a variable.

    "h" and "h in states" of ``h.detach()`` in ``for h in states``; of a Function, what
    it is applied to.
    """
    where = spot(history, call.site)
    statement = None if where is None else where.source.statement(where.node)
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(attr="apply"), [receiver, *_])):
            name = ast.unparse(receiver)
        case ast.Expr(ast.Call(ast.Attribute(receiver), given)) if (
            len(call.inputs) > len(given)  # else a function of a module: torch.relu(h)
        ):
            name = ast.unparse(receiver)
        case _:
            return "", ""
    for loop in () if where is None else loops_around(where):
        if isinstance(loop, ast.For) and name in names_in(loop.target):
            return name, f"{ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
    return name, ""
