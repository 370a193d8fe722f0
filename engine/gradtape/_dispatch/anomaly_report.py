"""What anomaly mode looks at, and how it says what it found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._backend import backend_of
from .._common.site import Site, caller_site, resolve, user_frame
from .._graph.anomaly import frame_text, parent_of, stack_of
from .._graph.node import Node, SavedTensor
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._sparse.array import SparseArray

_ndarray = np.ndarray
Check = Callable[[Node, Any, Sequence[Any]], None]

RETURNED_NAN = "Function '{name}' returned nan values in its {number}th output."
NO_FORWARD = (
    "Error detected in {name}. No forward pass information available. Enable detect "
    "anomaly during forward pass for more information."
)
KNOWN_LINE = " The line itself is always recorded:\n"
FORWARD = "Error detected in {name}. Traceback of forward call that caused the error:\n"
INDUCED = (
    "\n\nPrevious calculation was induced by {name}. Traceback of forward call that "
    "induced the previous calculation:\n"
)
FORWARD_VALUE = "Op '{name}' returned {kind} values in its {number}th output."


@dataclass(frozen=True, slots=True)
class Finding:
    """The first NaN or infinity of one result: where it is, and what it came from.

    An error of anomaly mode carries one as ``gradtape_finding``.
    """

    kind: Literal["nan", "inf"]
    function: str  # the node's name, or the op's for a value of the forward pass
    number: int  # which of its results
    index: tuple[int, ...]
    operands: dict[str, Any]  # what was there in the operands, by name
    site: Site | None  # the forward line
    first_inf: Finding | None = None  # the first infinity of the pass before a NaN

    def __str__(self) -> str:
        """Say it in one sentence."""
        where = f" at index {self.index}" if self.index else ""
        there = ", ".join(f"{name} = {value}" for name, value in self.operands.items())
        line = "" if self.site is None else f" ({self.site})"
        return (
            f"{self.function}{line}: the first {self.kind} of result {self.number} "
            f"is{where}; there {there}"
        )


# ---- backward ----------------------------------------------------------------------


def new_check() -> Check:
    """Return the test that one backward pass puts every node's gradients to.

    It raises at the first NaN and remembers the first infinity. Finite gradients are
    let through by one number: themselves, or their scalar product with themselves. A
    gradient that a node hands on as it came is looked at once.
    """
    first_inf: list[Finding] = []
    run = mode.now.run
    passed: Any = None  # the last one let through

    def check(node: Node, grad: Any, outgoing: Sequence[Any]) -> None:
        nonlocal passed
        for out in outgoing:
            if out is None:
                continue
            # Where the user's code ran, it may have written to it since.
            if out is passed and node.extra is None and not node.foreign:
                continue
            array = out if type(out) is _ndarray else getattr(out, "_data", out)
            if array.size == 1:
                value = array.item()
                if not value - value:  # neither NaN nor infinite
                    passed = out
                    continue
            elif type(array) is _ndarray and array.dtype.kind == "f":
                flat = array if array.ndim == 1 else array.reshape(-1)
                value = run(flat.dot, flat).item()  # may overflow: no reason to warn
                if not value - value:
                    passed = out
                    continue
            for number, each in enumerate(outgoing):
                if each is not None:
                    _look(node, grad, number, _plain(each), first_inf)
            return

    return check


def _look(
    node: Node, grad: Any, number: int, out: Any, first_inf: list[Finding]
) -> None:
    """Raise if there is a NaN; note an infinity. Here time does not matter."""
    kind = kind_of(out)
    if kind is None or (kind == "inf" and first_inf):
        return
    index = _first(out, kind)
    operands = _operands_of(node, grad)
    before = first_inf[0] if first_inf else None
    elementwise = getattr(getattr(node, "op", None), "pointwise", False)
    values = {
        name: _value_at(x, index, out.shape, elementwise)
        for name, x in operands.items()
    }
    found = Finding(kind, node.name(), number, index, values, node.site, before)
    if kind == "inf":
        first_inf.append(found)
        return
    error = RuntimeError(RETURNED_NAN.format(name=node.name(), number=number))
    raise _noted(error, found)


def _noted(error: RuntimeError, found: Finding) -> RuntimeError:
    error.gradtape_finding = found  # type: ignore[attr-defined]
    error.add_note(str(found))
    if found.first_inf is not None:
        error.add_note(f"an infinity came before: {found.first_inf}")
    return error


def kind_of(array: Any) -> Literal["nan", "inf"] | None:
    """Tell whether an array holds a NaN, or else an infinity."""
    kind = array.dtype.kind
    if kind in "biu":
        return None
    xp = backend_of(array).xp
    if bool(mode.run(xp.isnan, array).any()):
        return "nan"
    return "inf" if bool(mode.run(xp.isinf, array).any()) else None


def _first(array: Any, kind: str) -> tuple[int, ...]:
    if type(array) is SparseArray:
        once = array.coalesce()
        row, *inner = _first(once.values, kind)
        return (*once.indices[:, row].tolist(), *inner)
    xp = backend_of(array).xp
    at = int(getattr(xp, f"is{kind}")(array).argmax())
    return tuple(int(i) for i in np.unravel_index(at, array.shape))


def _operands_of(node: Node, grad: Any) -> dict[str, Any]:
    """Return what a node computed from: incoming gradients and saved values."""
    incoming = grad if isinstance(grad, list | tuple) else [grad]
    names = ["grad"] if len(incoming) == 1 else [f"grad{i}" for i in range(99)]
    found = dict(zip(names, incoming, strict=False))
    saved = node.saved or ()
    slots = node.slots or tuple(f"saved_tensors[{i}]" for i in range(len(saved)))
    found.update(zip(slots, saved, strict=False))
    return {name: _plain(value) for name, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    value = value.array if isinstance(value, SavedTensor) else value
    return getattr(value, "_data", value)


def _value_at(
    value: Any, index: tuple[int, ...], shape: tuple[int, ...], elementwise: bool
) -> Any:
    """Return one element, or where operands do not line up, what there is of them."""
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return value
    if type(value) is SparseArray:
        value = value.todense()
    if value.size == 1:
        return value.item()
    lined_up = value.shape == shape
    if elementwise and not lined_up:
        try:
            lined_up = np.broadcast_shapes(value.shape, shape) == shape
        except ValueError:
            lined_up = False
    if lined_up:
        return backend_of(value).xp.broadcast_to(value, shape)[index].item()
    kind = kind_of(value)
    size = "x".join(map(str, value.shape))
    if kind is None:
        return f"<{size}, all finite>"
    return f"<{size}, {kind} at {_first(value, kind)}>"


# ---- forward -----------------------------------------------------------------------


def check_outputs(op: Op, name: str, args: Sequence[Any], outputs: Any) -> None:
    """Refuse a result with a NaN, or with an infinity made of finite operands.

    An infinity that was put in on purpose, as masks are, is nobody's fault.
    """
    for number, output in enumerate(outputs):
        data = _plain(output)
        kind = kind_of(data)
        if kind is None:
            continue
        given = [_plain(arg) for arg in args]
        if kind == "inf" and not all(map(_is_finite, given)):
            continue
        index = _first(data, kind)
        values = {
            label: _value_at(value, index, data.shape, op.pointwise)
            for label, value in zip((*op.tensors, *op.param_names), given, strict=False)
        }
        raw = caller_site()
        site = None if raw is None else resolve(*raw)
        found = Finding(kind, name, number, index, values, site)
        message = FORWARD_VALUE.format(name=name, kind=kind, number=number)
        raise _noted(RuntimeError(message), found)


def _is_finite(value: Any) -> bool:
    if isinstance(value, float | complex):
        return value - value == 0
    if isinstance(value, list | tuple):
        return all(_is_finite(_plain(each)) for each in value)
    return not hasattr(value, "dtype") or kind_of(value) is None


# ---- the warning -------------------------------------------------------------------


def report(node: Node) -> None:
    """Warn where the forward call of a failing node was, and what induced it."""
    name, text = node.name(), FORWARD
    current: Node | None = node
    while current is not None:
        stack = stack_of(current)
        if stack is not None:
            _warn(text.format(name=name) + "".join(map(frame_text, stack)))
        elif current.site is None:
            _warn(NO_FORWARD.format(name=name))
        else:
            line = KNOWN_LINE + frame_text(current.site)
            _warn(NO_FORWARD.format(name=name) + line)
        current, text = parent_of(current), INDUCED
        name = "" if current is None else current.name()


def _warn(message: str) -> None:
    """Warn at the user's line; an error is under way, so never raise one."""
    user, level = user_frame(), 1
    frame = sys._getframe(0)
    while frame is not user and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(message, UserWarning, stacklevel=level)
    except UserWarning:
        print(f"UserWarning: {message}", file=sys.stderr)
