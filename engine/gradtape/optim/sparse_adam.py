"""Adam for sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from .._modes.grad_mode import enable_grad, mode, no_grad
from .._sparse.array import SparseArray
from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write
from ._rules import filled_beside
from .optimizer import Group, Optimizer, Parameters


class SparseAdam(Optimizer):
    """Adam in which only rows that have a gradient are stepped, and only their moments.

    Raises ValueError for options out of range, RuntimeError for dense gradients.

    >>> import gradtape as torch
    >>> table = torch.nn.Embedding(3, 1, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.5)
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> (before - table.weight.detach()).flatten()
    tensor([0.0000, 0.5000, 0.0000])
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        options = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, options)
        self._check_params()

    def _check_params(self) -> None:
        members = [
            ([g, i], param)
            for g, group in enumerate(self.param_groups)
            for i, param in enumerate(group["params"])
        ]
        found = [at for at, param in members if param.is_sparse]
        if found:
            raise ValueError(
                f"Sparse params at indices {found}: SparseAdam requires dense "
                "parameter tensors"
            )
        found = [at for at, param in members if param.is_complex()]
        if found:
            raise ValueError(
                f"Complex params at indices {found}: SparseAdam does not support "
                "complex parameters"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, once.

        ``closure`` computes the loss anew and is called first; its value is returned.
        """
        loss = None
        with no_grad():
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for param in group["params"]:
                    if param._grad is not None:
                        self._step_param(group, param)
        return loss

    def _step_param(self, group: Group, param: Tensor) -> None:
        grad = param._grad
        assert grad is not None
        if type(grad._data) is not SparseArray:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam "
                "instead"
            )
        state = self.state[param]
        if not state:
            state["step"] = 0
            state["exp_avg"] = filled_beside(param, 0.0)
            state["exp_avg_sq"] = filled_beside(param, 0.0)
        state["step"] += 1
        kept = grad._data.coalesce()
        if not kept.values.size:
            return
        for look in before_write:
            look(param)
        mode.run(_step_rows, group, param._data, kept, state)
        self.wrote(param)


def _step_rows(
    group: Group, data: Any, grad: SparseArray, state: dict[str, Any]
) -> None:
    """Step the rows that have a gradient."""
    beta1, beta2 = group["betas"]
    values = -grad.values if group["maximize"] else grad.values
    at = grad.places
    mean, square = state["exp_avg"]._data, state["exp_avg_sq"]._data
    mean[at] += (values - mean[at]) * (1 - beta1)
    square[at] += (values * values - square[at]) * (1 - beta2)
    count = state["step"]
    rate = float(group["lr"]) * sqrt(1 - beta2**count) / (1 - beta1**count)
    data[at] += -rate * mean[at] / (square[at] ** 0.5 + group["eps"])
