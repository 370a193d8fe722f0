"""Loops that only give their own variables other values, and what that kept out."""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.bindings import own_nodes, walked
from gradviz.diagnosis.edits.syntax import called, names_in
from gradviz.diagnosis.rules._lifetime import failed_backwards
from gradviz.program import Backward, History, RawSite, Value
from gradviz.text.places import package_of

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HOLDING = ast.stmt | ast.ExceptHandler | ast.match_case
_OVER = ("param", "state_dict", "buffer", "grad", "weight")
_PURE = words(
    "clamp clip to cuda cpu half float double detach clone mul add sub div lerp abs "
    "neg where zeros_like ones_like randn_like"
)


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A loop without effect, and the pass that failed for it, if one did."""

    loop: ast.For
    scope: ast.AST  # the function around it, or the file
    assign: ast.Assign  # the first of its body
    site: RawSite  # a place in its file
    failed: Backward | None = None  # asked for gradients of what it did not put in
    lost: frozenset[int] = frozenset()  # these tensors

    @property
    def name(self) -> str:
        """The variable that is given another value."""
        return _name(self.assign)

    def walked(self, name: str) -> ast.expr | None:
        """Return what a variable of the loop walks: ``b`` of ``x, y in zip(a, b)``."""
        target, over = self.loop.target, self.loop.iter
        return walked(target, over, name) if name in names_in(target) else None


@learning.once
def rebindings(history: History) -> list[Rebinding]:
    """Return the loops over parameters of the program's own files that do nothing."""
    found = list[Rebinding]()
    for file, site in files(history).items():
        tree = history.places.tree(file)
        for loop, scope in [] if tree is None else loops(tree):
            assign = loop.body[0]
            if isinstance(assign, ast.Assign) and _does_nothing(loop, scope):
                failed, lost = None, frozenset[int]()
                if _puts_in(assign):
                    failed, lost = _asked_in_vain(history)
                found.append(Rebinding(loop, scope, assign, site, failed, lost))
    return found


def files(history: History) -> dict[str, RawSite]:
    """Return the files of the program that ran, each with a place in it.

    Whoever runs it from an installed package (a notebook's kernel, pytest) is left out.
    """
    around = {each[0].co_filename: each for e in history.events for each in e.stack}
    inner = {e.site[0].co_filename: e.site for e in history.events if e.site}
    return {f: site for f, site in around.items() if not package_of(f)} | inner


def loops(tree: ast.Module) -> Iterator[tuple[ast.For, ast.AST]]:
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


def _puts_in(assign: ast.Assign) -> bool:
    """Tell whether a variable was to have the value of something else altogether."""
    read = names_in(assign.value)
    return bool(read) and _name(assign) not in read


def _asked_in_vain(history: History) -> tuple[Backward | None, frozenset[int]]:
    """Return a pass that failed on tensors which others were used in the place of.

    These have the same shapes one by one: parameters that were to be put in.
    """
    last = learning.last_seen(history)
    for backward in failed_backwards(history, "not have been used in the graph"):
        used = {leaf for root in backward.roots for leaf in history.leaves_of(root)}
        reached = history.reach(backward.root_nodes)
        asked = [each for each in backward.inputs if each.tensor not in used]
        asked = [each for each in asked if each.node not in reached]
        instead = [last[leaf] for leaf in used if leaf in last]
        if asked and _shapes(asked) <= _shapes(instead):
            return backward, frozenset(each.tensor for each in asked)
    return None, frozenset()


def _shapes(values: list[Value]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(each.shape) for each in values)
