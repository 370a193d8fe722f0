"""Forward mode through a user's Function: call its ``jvp``, check what it returns."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from ..._forward_mode.dual import Below, Level, enable, forward_base, is_enabled
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros_like

_NOT_A_VIEW = (
    "A custom Function's forward is returning a view (or an input as-is) but the jvp "
    "is not returning a view."
)
_OTHER_VIEW = (
    "A custom Function is returning a view but the jvp is not returning a view of the "
    "given grad input."
)
_OTHER_BASE = (
    "A custom Function is returning a view but the jvp is not returning a view of the "
    "same base as the given grad input."
)
_NOT_IN_PLACE = (
    "An inplace custom Function is not {what}. If the forward is modifying an input "
    "inplace, then the jvp function must modify the {which}."
)


def push_forward(
    node: Any,
    args: tuple[Any, ...],
    returned: tuple[Any, ...],
    outputs: tuple[Any, ...],
    marked: Container[int],
) -> None:
    """Give the outputs of a user's Function their tangents, at every level.

    ``returned`` is what forward returned, ``outputs`` what stands for it outside;
    ``marked`` has the ids of what is not differentiable.
    """
    innermost: Level = mode.now.duals
    for level in innermost.carrying(args):
        tangents = [
            level.tangent_of(arg) if isinstance(arg, Tensor) else None for arg in args
        ]
        with Below(level):
            versions = [None if t is None else t._version for t in tangents]
            found = _called(level, node, _given(node, args, tangents))
            _check_count(found, len(outputs))
            for number, output in enumerate(outputs):
                where = next((i for i, a in enumerate(args) if a is output), None)
                if _is_silent(returned[number], marked):
                    _check_absent(number, found[number])
                elif where is not None and tangents[where] is not None:
                    _check_changed(found[number], tangents[where], versions[where])
                elif (tangent := found[number]) is None:
                    continue
                elif where is not None:
                    level.attach_written(output, tangent)
                else:
                    _check_view(output, tangent, args, tangents)
                    level.attach(output, tangent)


def _given(
    node: Any, args: Sequence[Any], tangents: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return what ``jvp`` gets: zeros for tensors without tangent, unless refused."""
    if not node.materialize_grads:
        return list(tangents)
    return [
        zeros_like(arg.detach()) if t is None and _is_smooth(arg) else t
        for arg, t in zip(args, tangents, strict=True)
    ]


def _is_smooth(value: Any) -> bool:
    return isinstance(value, Tensor) and value._data.dtype.kind in "fcV"


def _called(level: Level, node: Any, given: Sequence[Any]) -> list[Any]:
    """Call the user's ``jvp``, in the outermost level with forward mode off."""
    enabled = is_enabled()
    enable(enabled and level.below is not None)
    try:
        found = node.apply_jvp(*given)
    finally:
        enable(enabled)
    each = list(found) if isinstance(found, tuple | list) else [found]
    for number, tangent in enumerate(each):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(tangent).__name__}) for grad "
                f"output {number}."
            )
    return each


def _check_count(found: Sequence[Any], count: int) -> None:
    if len(found) != count:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{count} but got {len(found)})"
        )


def _is_silent(output: Any, marked: Container[int]) -> bool:
    return not _is_smooth(output) or id(output) in marked


def _check_absent(number: int, tangent: Tensor | None) -> None:
    if tangent is not None:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {number}, but  the "
            "corresponding forward output is not a differentiable Tensor.You should "
            "return None at that position instead."
        )


def _check_changed(
    tangent: Tensor | None, given: Tensor | None, version: int | None
) -> None:
    """Refuse a write whose tangent was not written in place, too."""
    if tangent is None or tangent._version == version:
        raise RuntimeError(
            _NOT_IN_PLACE.format(
                what="modifying the forward mode gradients inplace",
                which="corresponding gradient inplace",
            )
        )
    if tangent is not given:
        raise RuntimeError(
            _NOT_IN_PLACE.format(
                what="returning the forward mode gradients as-is",
                which="gradient inplace and return it as-is",
            )
        )


def _check_view(
    output: Tensor,
    tangent: Tensor,
    args: Sequence[Any],
    tangents: Sequence[Tensor | None],
) -> None:
    """Refuse the tangent of a view of an input that is no view of the input's."""
    if output._base is None:
        return
    for arg, given in zip(args, tangents, strict=True):
        if given is None or arg._storage is not output._storage:
            continue
        base, whole = forward_base(tangent), forward_base(given)
        if base is None:
            raise RuntimeError(_NOT_A_VIEW)
        if whole is None and base is not given:
            raise RuntimeError(_OTHER_VIEW)
        if whole is not None and base is not whole:
            raise RuntimeError(_OTHER_BASE)
        return
