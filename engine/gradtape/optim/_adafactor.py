"""Adafactor: second moments of matrices kept as a row and a column."""

from __future__ import annotations

from typing import Any, ClassVar

from .._backend import backend_of
from .._dtypes import finfo
from .._tensor.tensor import Tensor, wrap
from ._rules import (
    RuledOptimizer,
    move_towards,
    numbers_of,
    options_of,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters


class Adafactor(RuledOptimizer):
    """Step by the gradient over the root of its mean square, with little memory.

    The mean square of a matrix is estimated from means of its rows and columns. Steps
    are relative to the parameter's size, and clipped at ``d``. Shazeer and Stern,
    "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018. Raises
    ValueError for options out of range.

    >>> import gradtape as torch
    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([[0.7500, 0.7500],
            [0.7500, 0.7500]])
    """

    later_options: ClassVar[dict[str, Any]] = {"foreach": None}

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        names = "lr beta2_decay eps d weight_decay foreach maximize"
        super().__init__(params, options_of(locals(), names))

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        if param.dtype.is_complex:
            raise RuntimeError("Adafactor does not support complex parameters")
        grad = param._grad
        assert grad is not None
        if grad.dim() < 2:
            return {"step": scalar(0.0), "variance": zeros_beside(grad)}
        xp, (*others, rows, columns) = backend_of(grad._data).xp, grad.shape
        row = xp.zeros((*others, rows, 1), grad._data.dtype)
        column = xp.zeros((*others, 1, columns), grad._data.dtype)
        return {"step": scalar(0.0), "row_var": wrap(row), "col_var": wrap(column)}

    def _step_tensors(self, group: Group, param: Tensor) -> None:
        self._step_memory(numbers_of(group), param)  # never recorded

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        count, (least, floor) = state["step"].item(), group["eps"]
        if least is None:
            least = float(finfo(wrap(param).dtype).eps)
        size = max(floor, _rms(F, param))
        if group["weight_decay"]:
            param *= 1 - lr * group["weight_decay"]
        share = count ** group["beta2_decay"]
        variance = _variance(F, grad, state, share, least)
        update = grad / F.sqrt(F.maximum(variance, least * least))
        clip = max(1.0, _rms(F, update) / group["d"])
        param += (-size * min(lr, 1 / count**0.5) / clip) * update
        return 2 if group["weight_decay"] else 1


def _rms(F: Any, array: Any) -> float:
    """Return the root of the mean square."""
    return float(F.linalg.norm(array.reshape(-1))) / array.size**0.5


def _variance(
    F: Any, grad: Any, state: dict[str, Any], share: float, least: float
) -> Any:
    """Let the state take in a gradient; return the mean squares it stands for."""
    square = grad * grad
    if "variance" in state:
        move_towards(state["variance"], square, share)
        return state["variance"]
    row, column = state["row_var"], state["col_var"]
    move_towards(row, square.mean(axis=-1, keepdims=True), share)
    move_towards(column, square.mean(axis=-2, keepdims=True), share)
    return row @ column / F.maximum(row.mean(axis=-2, keepdims=True), least)
