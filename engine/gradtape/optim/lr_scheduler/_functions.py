"""Rates that a function of the user's gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..optimizer import Optimizer
from ._base import LRScheduler, Rate, state_of_function, warn_outside_step

RateFunction: TypeAlias = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """What the two have in common: a function for each group."""

    lr_lambdas: list[RateFunction]

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: RateFunction | list[RateFunction],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None:
        """Refuse what cannot be called, where PyTorch does so early."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything but optimizer and functions.

        Of callable objects the state is kept, of functions and lambdas nothing.
        """
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [state_of_function(each) for each in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        rest = {k: v for k, v in state_dict.items() if k != "lr_lambdas"}
        self.__dict__.update(rest)
        for index, kept in enumerate(state_dict["lr_lambdas"]):
            if kept is not None:
                self.lr_lambdas[index].__dict__.update(kept)


class LambdaLR(_FunctionLR):
    """Multiply the initial rate by a function of the epoch.

    >>> import gradtape as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> LambdaLR = torch.optim.lr_scheduler.LambdaLR
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at ``last_epoch``."""
        warn_outside_step(self)
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_FunctionLR):
    """Multiply the last rate by a function of the epoch.

    Raises TypeError for what cannot be called.

    >>> import gradtape as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> MultiplicativeLR = torch.optim.lr_scheduler.MultiplicativeLR
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def _check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at ``last_epoch``."""
        warn_outside_step(self)
        if self._is_initial:
            return self._rates()
        pairs = zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        return [group["lr"] * function(self.last_epoch) for function, group in pairs]
