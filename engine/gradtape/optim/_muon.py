"""Muon: momentum whose matrix is made orthogonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import _dtypes
from .._tensor.tensor import Tensor
from ._rules import RuledOptimizer, move_towards, numbers_of, options_of, zeros_beside
from .optimizer import Group, Parameters

COEFFICIENTS = (3.4445, -4.775, 2.0315)


class Muon(RuledOptimizer):
    """Step by the momentum with all its singular values brought near 1.

    A few Newton-Schulz steps in bfloat16 do that. For matrices only; biases and
    embeddings want another optimizer. Jordan, "Muon: An optimizer for hidden layers in
    neural networks", 2024. Raises ValueError for options out of range and for
    parameters that are no matrices.

    >>> import gradtape as torch
    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool(w.trace() < 2)
    True
    """

    later_options: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported"
            )
        names = (
            "lr weight_decay momentum nesterov ns_coefficients eps ns_steps "
            "adjust_lr_fn"
        )
        super().__init__(params, options_of(locals(), names))
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter "
                        f"with size: {param.size()}"
                    )

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        if param.dtype.is_complex:
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": zeros_beside(param)}

    def _step_tensors(self, group: Group, param: Tensor) -> None:
        self._step_memory(numbers_of(group), param)  # never recorded

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        momentum, velocity = group["momentum"], state["momentum_buffer"]
        move_towards(velocity, grad, 1 - momentum)
        update = velocity
        if group["nesterov"]:
            update = grad.copy()
            move_towards(update, velocity, momentum)
        update = _orthogonal(F, update, group)
        param *= 1 - lr * group["weight_decay"]
        param += (-_rate(lr, group["adjust_lr_fn"], *param.shape) * update).astype(
            param.dtype
        )
        return 2


def _rate(lr: float, kind: str | None, rows: int, columns: int) -> float:
    """Return the rate for a matrix of this shape."""
    if kind == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))


def _orthogonal(F: Any, matrix: Any, group: Group) -> Any:
    """Bring singular values near 1, rounding to bfloat16 after each operation."""
    if group["ns_steps"] >= 100:
        raise ValueError(
            "Number of steps must be less than 100 for computational efficiency"
        )
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    first, second, third = group["ns_coefficients"]
    found = _short(matrix)
    tall = matrix.shape[0] > matrix.shape[1]
    found = found.T if tall else found
    length = _short(F.linalg.norm(found.reshape(-1))[None])
    found = _short(found / F.maximum(length, _short(F.asarray([group["eps"]]))))
    for _ in range(group["ns_steps"]):
        gram = _short(found @ found.T)
        change = _short(second * gram + third * (gram @ gram))
        found = _short(first * found + change @ found)
    return found.T if tall else found


def _short(array: Any) -> Any:
    """Round to bfloat16; go on with float32, which can hold it."""
    return array.astype(_dtypes.bfloat16.numpy).astype("float32")
