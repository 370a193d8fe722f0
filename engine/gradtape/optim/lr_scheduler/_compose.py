"""Schedulers made of schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, update_group
from ._plateau import ReduceLROnPlateau


class _Composed(LRScheduler):
    """What the two have in common: members, and their states in the state."""

    _schedulers: Sequence[LRScheduler]

    def _check_members(
        self, members: Sequence[LRScheduler], optimizer: Optimizer
    ) -> None:
        kind = type(self).__name__
        for index, member in enumerate(members):
            if not hasattr(member, "optimizer"):
                raise TypeError(
                    f"{kind} at index {index} should have `optimizer` as its attribute."
                )
            if isinstance(member, ReduceLROnPlateau):
                raise ValueError(
                    f"{kind} does not support `ReduceLROnPlateau` scheduler as it "
                    "requires additional kwargs to be specified when calling `step`, "
                    f"but got one at index {index} in the given schedulers sequence."
                )
            if optimizer != member.optimizer:
                raise ValueError(
                    f"{kind} expects all schedulers to belong to the same optimizer, "
                    f"but got scheduler {type(member).__name__} at index {index} has "
                    f"{member.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; of the members, their states."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [each.state_dict() for each in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        rest = {k: v for k, v in state_dict.items() if k != "_schedulers"}
        self.__dict__.update(rest)
        for index, state in enumerate(state_dict["_schedulers"]):
            self._schedulers[index].load_state_dict(state)


class SequentialLR(_Composed):
    """Let one scheduler after the other set the rates; the next begins at a milestone.

    Raises ValueError where members and milestones do not fit together.

    >>> import gradtape as torch
    >>> from gradtape.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, 0.5), ExponentialLR(optimizer, 0.25)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no "
                "scheduler."
            )
        self._check_members(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one "
                "more than the number of milestone points, but got number of "
                f"schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            update_group(group, "lr", group["initial_lr"])
        # All members have stepped as they were made; only the first shall have.
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the first step of every member, however deep."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for member in scheduler._schedulers:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
                self.recursive_undo(member)  # pyright: ignore[reportUnknownArgumentType]
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Set the next rates by the member whose turn it is."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Let several schedulers change the same rates, each in its turn.

    Raises ValueError where members do not fit together.

    >>> import gradtape as torch
    >>> from gradtape.optim.lr_scheduler import ChainedScheduler, ExponentialLR, StepLR
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [ExponentialLR(optimizer, 0.5), StepLR(optimizer, 1, 0.5)]
    >>> scheduler = ChainedScheduler(parts)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, "
                "but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check_members(schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._rates()

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Let every member set its next rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
