"""A loop over parameters gives its own variable another value, and changes nothing.

What it does
    Finds ``for`` loops over parameters, buffers or gradients whose whole body assigns
    to the loop's variables, where nothing reads these afterwards.

Why is this bad
    ``param = value`` makes the name stand for something else; the tensor that it stood
    for stays as it was. Weights are neither copied, nor clipped, nor averaged, and
    nothing fails.

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
from collections import deque
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, RawSite
from gradviz.text.places import package_of

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HOLDING = ast.stmt | ast.ExceptHandler | ast.match_case
_OVER = ("param", "state_dict", "buffer", "grad", "weight")
_PURE = words(
    "clamp clip to cuda cpu half float double detach clone mul add sub div lerp abs "
    "neg where zeros_like ones_like randn_like"
)


@rule("GV673", "loop-only-rebinds", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loop that does nothing."""
    for file, site in _files(history).items():
        tree = history.places.tree(file)
        for loop, scope in [] if tree is None else _loops(tree):
            if _does_nothing(loop, scope):
                yield _hit(history, loop, site)


def _files(history: History) -> dict[str, RawSite]:
    """Return the files of the program that ran, each with a place in it.

    Whoever runs it from an installed package (a notebook's kernel, pytest) is left out.
    """
    around = {each[0].co_filename: each for e in history.events for each in e.stack}
    inner = {e.site[0].co_filename: e.site for e in history.events if e.site}
    return {f: site for f, site in around.items() if not package_of(f)} | inner


def _loops(tree: ast.Module) -> Iterator[tuple[ast.For, ast.AST]]:
    """Yield the loops of a file, each with the function around it, or the file."""
    waiting: deque[tuple[ast.AST, ast.AST]] = deque([(tree, tree)])
    while waiting:
        node, scope = waiting.popleft()
        for each in ast.iter_child_nodes(node):
            if not isinstance(each, _HOLDING):
                continue  # expressions are most of a tree, and hold no loop
            if isinstance(each, ast.For) and not isinstance(scope, ast.ClassDef):
                yield each, scope
            waiting.append((each, each if isinstance(each, _SCOPES) else scope))


def _does_nothing(loop: ast.For, scope: ast.AST) -> bool:
    """Tell whether a loop only gives its variables values that nothing reads."""
    if loop.orelse or not all(isinstance(each, ast.Assign) for each in loop.body):
        return False
    if not any(word in ast.unparse(loop.iter) for word in _OVER):
        return False
    own = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    last = loop.body[-1].end_lineno or 0
    read = {
        node.id
        for node in own_nodes(scope)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.lineno > last
    }
    return all(
        isinstance(each, ast.Assign)
        and [type(target) for target in each.targets] == [ast.Name]
        and _name(each) in own - read
        and _is_pure(each.value)
        for each in loop.body
    )


def _name(assign: ast.Assign) -> str:
    (target,) = assign.targets
    return target.id if isinstance(target, ast.Name) else ""


def _is_pure(value: ast.expr) -> bool:
    """Tell whether an expression can change nothing that it reads."""
    calls = (each for each in ast.walk(value) if isinstance(each, ast.Call))
    return all(called(each) in _PURE for each in calls)


def _hit(history: History, loop: ast.For, site: RawSite) -> Hit:
    assign = loop.body[0]
    name = _name(assign) if isinstance(assign, ast.Assign) else ""
    return Hit(
        f"`{ast.unparse(assign)}` makes the name `{name}` stand for another value; the "
        f"tensor that `{ast.unparse(loop.iter)}` gave stays as it was. The loop in "
        f"line {loop.lineno} does nothing else, so it changes nothing.",
        history.places.at_line(site[0], assign.lineno),
        f"Write into the tensor, under `torch.no_grad()`: `{name}.copy_(…)`.",
        line=assign.lineno,
        certainty=0.85,
    )
