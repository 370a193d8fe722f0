"""What a user's backward may return; errors name the Function, its file and line."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from typing import Any, Protocol

from ..._common import messages as _errors
from ..._common.site import Site
from ..._graph.node import Node
from ..._graph.output_layout import Layout
from ..._tensor.tensor import Tensor

_COUNT = (
    "function {name} returned an incorrect number of gradients (expected {expected}, "
    "got {got})"
)
_NOT_A_VARIABLE = (
    "function {name} returned a gradient different than None at position {position}, "
    "but the corresponding forward input was not a Variable"
)
_KIND = "expected Variable or None (got {kind})"
_SHAPE = (
    "Function {name} returned an invalid gradient at index {index} - got {got} but "
    "expected shape compatible with {expected}"
)
_COMPLEX = (
    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
    "grad_is_complex) to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)

get_nodes = Node.nodes.__get__  # type: ignore[attr-defined]
get_numbers = Node.numbers.__get__  # type: ignore[attr-defined]


class FunctionNode(Protocol):
    """What is asked here of the node of a user's Function."""

    _takes: tuple[bool, ...]

    @property
    def site(self) -> Site | None: ...
    def __getattr__(self, name: str) -> Any: ...


def checked(node: FunctionNode, returned: Any) -> Sequence[Tensor | None]:
    """Return one gradient per tensor argument of the forward call.

    Raises RuntimeError, in PyTorch's words, for a wrong number, kind, shape or a
    complex gradient of a real tensor.
    """
    gradients = returned if isinstance(returned, tuple) else (returned,)
    takes = node._takes
    expected, got = len(takes), len(gradients)
    if got > expected and all(g is None for g in gradients[expected:]):
        gradients, got = gradients[:expected], expected
    if got != expected:
        sentence = _COUNT.format(name=_name(node), expected=expected, got=got)
        raise _faulty(node, sentence, got, None)
    found: list[Tensor | None] = []
    nodes, numbers = get_nodes(node), get_numbers(node)
    for position, taken in enumerate(takes):
        gradient = gradients[position]
        if not taken:
            if gradient is not None:
                raise _misplaced(node, position, gradient, got)
            continue
        if gradient is not None:
            if not isinstance(gradient, Tensor):
                raise _misplaced(node, position, gradient, got)
            index = len(found)
            if nodes[index] is not None:
                layout = nodes[index].layouts[numbers[index]]
                data = gradient._data
                if data.shape != layout.shape or data.dtype is not layout.dtype:
                    try:
                        _check_layout(node, position, index, data, layout, got)
                    except RuntimeError:  # PyTorch looks at shapes last
                        _check_kinds(node, gradients, got)
                        raise
        found.append(gradient)
    return found


def _check_kinds(node: FunctionNode, gradients: Sequence[Any], got: int) -> None:
    """Refuse what is no gradient, and gradients of arguments that take none."""
    for position, gradient in enumerate(gradients):
        wanted = isinstance(gradient, Tensor) and node._takes[position]
        if gradient is not None and not wanted:
            raise _misplaced(node, position, gradient, got)


def _misplaced(
    node: FunctionNode, position: int, gradient: Any, got: int
) -> RuntimeError:
    if node._takes[position]:
        sentence = _KIND.format(kind=type(gradient).__name__)
    else:
        sentence = _NOT_A_VARIABLE.format(name=_name(node), position=position + 1)
    return _faulty(node, sentence, got, position)


def _check_layout(
    node: FunctionNode, position: int, index: int, data: Any, layout: Layout, got: int
) -> None:
    if data.shape != layout.shape and not _may_shrink(data.shape, layout):
        sentence = _SHAPE.format(
            name=_name(node),
            index=index,
            got=_errors.shape_text(data.shape),
            expected=_errors.shape_text(layout.shape),
        )
        raise _faulty(node, sentence, got, position)
    if data.dtype.kind == "c" != layout.dtype.kind:
        raise _faulty(node, _COMPLEX, got, position)


def _may_shrink(given: tuple[int, ...], layout: Layout) -> bool:
    """Tell whether a gradient of this shape can be summed to the layout's shape."""
    shape = layout.shape
    lead = len(given) - len(shape)
    return lead >= 0 and all(
        n in (1, m) for n, m in zip(shape, given[lead:], strict=True)
    )


def _name(node: FunctionNode) -> str:
    return type(node).__name__


# ---- where it went wrong -----------------------------------------------------------


def place(error: BaseException, node: FunctionNode) -> None:
    """Say on the error which node failed and which line recorded it."""
    if node.site is not None and not hasattr(error, "gradtape_node"):
        error.gradtape_node = _name(node)  # type: ignore[attr-defined]
        error.add_note(f"raised in {_name(node)}, recorded at {node.site}")


def _faulty(
    node: FunctionNode, sentence: str, got: int, position: int | None
) -> RuntimeError:
    """Build the error for one gradient (None: for their number), with its place."""
    error = RuntimeError(sentence)
    function = inspect.unwrap(node._get_user_fn())
    code = getattr(function, "__code__", None)
    if code is not None:
        lines = _return_lines(function, got, position) or [code.co_firstlineno]
        where = " or ".join(str(line) for line in lines)
        error.add_note(f"returned by {code.co_qualname}, {code.co_filename}:{where}")
    return error


def _return_lines(function: Any, got: int, position: int | None) -> list[int]:
    """Return the lines of the ``return`` statements that the fault can come from.

    A ``return`` of a different number of gradients, or of a literal None at the
    faulty position, is not meant.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return []
    body = tree.body[0]
    returns = [each for each in _own_statements(body) if isinstance(each, ast.Return)]
    fitting = [each for each in returns if _fits(each.value, got, position)]
    return [each.lineno + max(first, 1) - 1 for each in fitting or returns]


def _own_statements(function: ast.AST) -> list[ast.AST]:
    """Return the statements of a function, without those of functions inside it."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        found.append(each)
        waiting[:0] = ast.iter_child_nodes(each)
    return found


def _fits(value: ast.expr | None, got: int, position: int | None) -> bool:
    if isinstance(value, ast.Tuple):
        if any(isinstance(each, ast.Starred) for each in value.elts):
            return True
        if len(value.elts) != got:
            return False
        chosen = None if position is None else value.elts[position]
    elif isinstance(value, ast.Call | ast.Name | ast.Attribute | ast.IfExp):
        return True  # may be a tuple of any length
    else:
        if got != 1:
            return False
        chosen = value
    return not (isinstance(chosen, ast.Constant) and chosen.value is None)
