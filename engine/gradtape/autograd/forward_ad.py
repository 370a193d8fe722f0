"""Forward-mode differentiation: dual tensors, which carry a tangent along."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._dispatch.declare import OPS, Array, op
from .._dispatch.strided_views import geometry_of
from .._forward_mode import dual as _dual
from .._forward_mode.dual import Level
from .._modes.grad_mode import _Decorator, mode
from .._tensor.subclasses import dispatching
from .._tensor.tensor import Tensor
from ..ops._support.declare_view import look, recorded

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1
"""The level that the functions here mean by default; -1 outside any."""

_is_fwd_grad_enabled = _dual.is_enabled


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` returns; ``tangent`` is None for a plain tensor."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level of forward mode and return its number.

    Raises RuntimeError inside another level: they do not nest. ``func.jvp`` does.
    """
    global _current_level  # noqa: PLW0603 - whose name programs look at
    if _current_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _dual.enter()
    _current_level = 0
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: all tangents in it are let go.

    Raises RuntimeError where it is not the last one entered.
    """
    global _current_level  # noqa: PLW0603 - as above
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was "
            "created. This is not supported."
        )
    innermost = _dual.innermost()
    if level < 0 or innermost is None:
        raise RuntimeError("Dual level must be a positive number.")
    _dual.leave(innermost)
    _current_level = level - 1


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` that carries ``tangent``, of the same shape.

    The tangent is taken as it is where it lies in memory as the tensor does, and
    copied otherwise. Gradients flow back through both. Raises RuntimeError outside a
    level and where the shapes differ, ValueError for integers.

    >>> import gradtape as torch
    >>> from gradtape.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor([6.])
    """
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make "
            "sure to enter_dual_level() first."
        )
    _check_kind(tensor, "primal")
    _check_kind(tangent, "tangent")
    on = _dual.innermost()
    if level != _current_level or on is None:
        raise RuntimeError("Invalid level given to _make_dual")
    if mode.now.watch is not None:
        mode.now.watch.check_dual((tensor, tangent))
    return make_dual_at(on, tensor, tangent)


def make_dual_at(level: Level, tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a view of ``tensor`` whose tangent at ``level`` is ``tangent``."""
    if level.tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward "
            f"gradient at the same level {level.number} is not supported."
        )
    dual = _alias(level, tensor, "view")
    level.attach(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor's value without its tangent, and the tangent; None if none.

    The value is a view of the tensor; gradients flow back through both.
    """
    if level is None:
        level = _current_level
    on = _dual.innermost()
    if level < 0 or on is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    return unpack_dual_at(on, tensor)


def unpack_dual_at(level: Level, tensor: Tensor) -> UnpackedDualTensor:
    """Split a tensor into value and tangent at ``level``."""
    tangent = level.tangent_of(tensor) if _dual.is_enabled() else None
    return UnpackedDualTensor(_alias(level, tensor, "_fw_primal"), tangent)


def _alias(level: Level, tensor: Tensor, op: str) -> Tensor:
    """Return a view of a tensor without its tangent at this level."""
    with _dual.Below(level):
        if type(tensor) in dispatching:
            return _dual.set_apart(tensor.view_as(tensor))  # type: ignore[attr-defined]
        view = look(tensor, geometry_of(tensor))
        options = (tensor._data.shape,) if op == "view" else ()
        recorded(OPS[op], tensor, (view,), options)
        return _dual.set_apart(view)


@op({"self": lambda F, grad: grad}, view="", method=False, function=False)
def _fw_primal(xp: Any, self: Array) -> Any:
    """See the value of a dual tensor."""
    return self[...]


OPS["_fw_primal"].node_type.__name__ = "CppFunction"
OPS["_fw_primal"].node_type.name = lambda self: "torch::autograd::Identity"


def _check_kind(tensor: Tensor, what: str) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected {what} to be floating point or complex, but got: {tensor.dtype}"
        )


class dual_level(_Decorator):
    """Enter a level for a block, or for each call of the decorated function.

    >>> import gradtape as torch
    >>> from gradtape.autograd import forward_ad
    >>> x, v = torch.tensor(2.0), torch.tensor(1.0)
    >>> with forward_ad.dual_level():
    ...     out = forward_ad.make_dual(x, v) ** 3
    ...     forward_ad.unpack_dual(out)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(_Decorator):
    """Compute tangents or hide them, at once and until the block ends."""

    def __init__(self, mode: bool) -> None:
        self.previous = _dual.is_enabled()
        self.enabled = mode
        _dual.enable(mode)

    def clone(self) -> _set_fwd_grad_enabled:
        return _set_fwd_grad_enabled(self.enabled)

    def __enter__(self) -> None:
        _dual.enable(self.enabled)

    def __exit__(self, *exc: object) -> None:
        _dual.enable(self.previous)
