"""CustomNode: the node of a user's Function, which is the ``ctx`` the user sees."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Sequence
from types import FrameType
from typing import Any, ClassVar, Protocol

import numpy as np

from ..._common import messages as _errors
from ..._common.site import Site, internal_files
from ..._dispatch.declare import tensor_ops
from ..._dispatch.operands import as_array
from ..._engine.saved_attributes import SavedTensor as RawSaved
from ..._engine.saved_attributes import raw_saved
from ..._graph.node import Node, SavedTensor, new_object
from ..._graph.output_layout import Layout
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor, wrap, wrap_shared

_CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True "
    "is set on the autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)

_get_frame = sys._getframe
_set = object.__setattr__


class CustomNode(Node):
    """A node whose derivative is the user's code.

    ``_takes`` has one entry per forward argument: whether it was a tensor. Only tensors
    have a next function. ``_gives`` has one layout per output, None for what was no
    tensor, and ``_silent`` the numbers of outputs without gradient. What the user saved
    is in ``saved``; ``_numbers`` says which entries are outputs, and which ones.
    """

    __slots__ = (
        "__dict__",
        "_gives",
        "_numbers",
        "_takes",
        "needs_input_grad",
        "to_save",
    )

    foreign = True
    _forward_cls: ClassVar[Any]

    _takes: tuple[bool, ...]
    _gives: tuple[Layout | None, ...]
    _numbers: tuple[int | None, ...] | None  # None: handed out for good
    needs_input_grad: tuple[bool, ...] | None
    to_save: tuple[Tensor | None, ...] | None

    # What few calls have: here its usual value, on the node if it is another one.
    saved_for_forward: tuple[Tensor | None, ...] | None = None
    dirty_tensors: tuple[Tensor, ...] | None = None
    non_differentiable: tuple[Tensor, ...] | None = None
    materialize_grads: bool = True
    _materialize_non_diff_grads: bool = True
    _is_pure_view: bool = False
    _silent: frozenset[int] = frozenset()
    _own: dict[str, Any] | None = None  # what the user wrote under the engine's names
    _xp: Any = np

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a node that has recorded nothing yet."""
        node = new_object(cls)
        for write, value in BLANK:
            write(node, value)
        return node

    def __setattr__(self, name: str, value: Any) -> None:
        if name in RESERVED and not is_engine(_get_frame(1)):
            put_aside(self, name, value)
        else:
            _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in RESERVED and (self._own is None or name not in self._own):
            raise AttributeError(name)
        object.__delattr__(self, name)

    def __repr__(self) -> str:
        return object.__repr__(self)  # with the module, as PyTorch shows such nodes

    def name(self) -> str:
        """Return the name of the user's class with "Backward" behind it."""
        return type(self).__name__

    @property
    def op_name(self) -> str:  # type: ignore[override] - one per Function
        """Name of the user's class."""
        return str(self._forward_cls.__name__)

    @property
    def slots(self) -> tuple[str, ...]:  # type: ignore[override] - one per call
        """Names of what was saved: ``result0`` for an output, else its position."""
        return tuple(
            str(position) if number is None else f"result{number}"
            for position, number in enumerate(self._numbers or ())
        )

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Call the user's backward on tensors and check what it returned."""
        gradients = self._arriving(F, grad)
        try:
            if self._forward_cls.boxed_grads_call:
                returned = self.apply_boxed(gradients)
            else:
                returned = self.apply(*gradients)
            found = checked(self, returned)
        except Exception as error:
            place(error, self)
            raise
        if F.raw:
            return tuple([None if g is None else g._data for g in found])
        return tuple(found)

    def apply(self, *gradients: Tensor | None) -> Any:
        raise NotImplementedError

    def apply_boxed(self, *gradients: list[Tensor | None]) -> Any:
        raise NotImplementedError

    def _arriving(self, F: Any, grad: Any) -> list[Tensor | None]:
        """Return one gradient per output, with zeros for absent ones if asked for."""
        gives = self._gives
        given: Sequence[Any] = grad
        if type(grad) is not list:
            given = [grad] if len(gives) == 1 else [None] * len(gives)
        gradients: list[Tensor | None] = []
        for each in given:
            if each is not None:
                gradients.append(wrap(as_array(each)) if F.raw else each)
            else:
                gradients.append(self._filling(len(gradients)))
        return gradients

    def _filling(self, number: int) -> Tensor | None:
        """Return what stands for a gradient that did not arrive: zeros, or None."""
        layout = self._gives[number]
        if layout is None or not self.materialize_grads:
            return None
        if number in self._silent and not self._materialize_non_diff_grads:
            return None
        return wrap(self._xp.zeros(layout.shape, layout.dtype))

    def free(self) -> None:
        """Let go of what was saved; the user's attributes stay, as in PyTorch."""
        set_saved(self, None)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` was given, checked against later writes.

        Raises RuntimeError where one was written since, or the graph was freed.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        entries, numbers = self._entries()
        unpack, found = tensor_ops.unpack, list[Tensor | None]()
        for entry in entries[: len(numbers)]:
            found.append(None if entry is None else unpack(self, entry))
        if numbers and self._forward_cls.clear_saved_tensors_on_access:
            set_saved(self, (None,))
            self._numbers = None
        return tuple(found)

    def _entries(self) -> tuple[tuple[Any, ...], tuple[int | None, ...]]:
        saved, numbers = get_saved(self), self._numbers
        if saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        if numbers is None:
            raise RuntimeError(_CLEARED)
        return saved, numbers

    def saved_output(self, entry: SavedTensor) -> Tensor:
        """Make a saved output anew: it was kept as bare memory.

        Otherwise the node would hold a tensor that holds the node.
        """
        entries, numbers = self._entries()
        number = numbers[entries.index(entry)]
        assert number is not None
        output = wrap_shared(entry.array, entry.storage)
        if number not in self._silent:
            output._grad_fn, output._nr, output._needs = self, number, True
        if mode.now.duals is not None:
            mode.now.duals.unpacked(self, number, output)
        return output

    def maybe_clear_saved_tensors(self) -> None:
        """Do nothing: what may be read only once was let go of when it was read."""

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        _, numbers = self._entries()
        return tuple([raw_saved(self, at) for at in range(len(numbers))])


# The slots' own setters: quicker than telling the engine's writes from the user's.
get_saved = Node.saved.__get__  # type: ignore[attr-defined]
set_saved = Node.saved.__set__  # type: ignore[attr-defined]

_START = {
    "nodes": (),
    "numbers": (),
    "params": (),
    "saved": (),
    "scope": None,
    "seq": 0,
    "code": None,
    "lasti": 0,
    "extra": None,
    "layout": None,
    "several": (),
    "storage_ids": 0,
    "_takes": (),
    "_gives": (),
    "_numbers": (),
    "needs_input_grad": None,
    "to_save": None,
}
BLANK = [(getattr(CustomNode, name).__set__, value) for name, value in _START.items()]
"""What a node begins with."""

_SET_BY_CALL = {"scope", "seq", "code", "lasti", "_takes", "needs_input_grad"}
CALL_BLANK = [
    pair for name, pair in zip(_START, BLANK, strict=True) if name not in _SET_BY_CALL
]
"""The same for the node of a call, which fills in the rest itself."""


# ---- what a user's backward may return ----

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


# ---- names that the engine and a user's ``ctx`` may both use, kept apart -----

ENGINE_READERS: set[str] = set()
"""Top-level packages that look at nodes as the engine does: tools, not users."""

RESERVED = {
    name for name in dir(Node) if not name.startswith("_") and name != "metadata"
} - {"next_functions"}  # these two nobody may write, in PyTorch too


def is_engine(frame: FrameType) -> bool:
    """Tell whether the code that runs in ``frame`` wants the engine's own values."""
    if internal_files[frame.f_code.co_filename]:
        return True
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in ENGINE_READERS


def put_aside(node: Any, name: str, value: Any) -> None:
    """Keep what the user wrote to ``ctx.<name>`` out of the engine's way."""
    kind = type(node)
    if not isinstance(vars(kind).get(name), SharedName):
        setattr(kind, name, SharedName(name, _found(kind, name)))
    if node._own is None:
        node._own = {}
    node._own[name] = value


def _found(kind: type, name: str) -> Any:
    """Return what the class has under a name: a slot, a method, a constant."""
    return next(vars(base)[name] for base in kind.__mro__ if name in vars(base))


class SharedName:
    """A name that one Function's code uses too; ``engine`` is what nodes have there."""

    __slots__ = ("engine", "name")

    def __init__(self, name: str, engine: Any) -> None:
        self.name = name
        self.engine = engine

    def __get__(self, node: Any, owner: type | None = None) -> Any:
        if node is not None:
            own = node._own
            if own is not None and self.name in own and not is_engine(_get_frame(1)):
                return own[self.name]
        read = getattr(type(self.engine), "__get__", None)
        return self.engine if read is None else read(self.engine, node, owner)

    def __set__(self, node: Any, value: Any) -> None:
        self.engine.__set__(node, value)  # the user's writes do not come here

    def __delete__(self, node: Any) -> None:
        if node._own is None or self.name not in node._own:
            raise AttributeError(self.name)
        del node._own[self.name]
