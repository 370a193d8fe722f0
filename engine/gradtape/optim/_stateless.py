"""Lending an optimizer other parameters and another state for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._tensor.tensor import Tensor
from .optimizer import Group, Optimizer

_WHO = "swap_in_optimizer_params_and_state requires "
NO_STATE_YET = _WHO + "initialized optimizer state."
NO_STATE_DICT = _WHO + "a DCP-style optimizer state_dict."
NO_STATES = (
    _WHO + "swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
    "per-param state dicts, got {}."
)
KEYED_BY_TENSORS = (
    _WHO + "optimizer.state_dict()-style state keyed by packed parameter ids."
)
STATE_NO_DICT = _WHO + "per-parameter optimizer state entries to be dictionaries."
NO_GROUPS = (
    _WHO + "swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
    "{}."
)
OTHER_GROUPS = (
    "swapin_optim_state has a different number of parameter groups than the live "
    "optimizer."
)
GROUP_NO_DICT = _WHO + "each optimizer param group to be a dictionary."
NO_NUMBERS = (
    _WHO + "optimizer.state_dict()-style param_groups[*]['params'] entries keyed by "
    "packed parameter ids."
)
OTHER_SIZE = (
    "swapin_optim_state param group {} has a different number of params than the live "
    "optimizer param group."
)
OTHER_KEYS = (
    _WHO + "optimizer.state_dict()-style param group keys to exactly match the live "
    "optimizer group keys for group {}. Keys only in swap-in: {}. Keys only in live: "
    "{}."
)
TOO_FEW = (
    _WHO + "the explicit parameter state to match optimizer.param_groups ordering."
)
EXTRA_STATES = (
    _WHO + "swapin_optim_state['state'] to be keyed only by packed parameter ids from "
    "param_groups[*]['params']; got extra keys {!r}."
)


class _Loan(NamedTuple):
    """What one group gets."""

    group: Group
    options: Group
    params: list[Tensor]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Generator[None]:
    """Let an optimizer work on other parameters and a state as ``state_dict`` returns.

    The parameters come in the order of the optimizer's own. On leaving, it has its own
    again. Raises RuntimeError where they do not fit, or the optimizer never stepped.

    >>> import gradtape as torch
    >>> from gradtape.optim import swap_in_optimizer_params_and_state
    >>> w, other = (torch.ones(1, requires_grad=True) for _ in range(2))
    >>> optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.grad = other.grad = torch.ones(1)
    >>> optimizer.step()
    >>> state = optimizer.state_dict()
    >>> with swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
    ...     optimizer.step()
    >>> w.item(), round(other.item(), 4)
    (0.5, 0.05)
    """
    states, loans = _prepare(optimizer, swapin_parameters, swapin_optim_state)
    own_state = optimizer.state
    own_groups = [dict(group) for group in optimizer.param_groups]
    try:
        lent: defaultdict[Any, Any] = defaultdict(dict)
        for group, options, params in loans:
            group.update(options)
            group["params"] = params
            for param, number in zip(params, options["params"], strict=True):
                lent[param] = dict(states.get(number, {}))
        optimizer.state = lent
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _prepare(
    optimizer: Optimizer, parameters: dict[str, Tensor], state: Any
) -> tuple[dict[Any, Any], list[_Loan]]:
    if not optimizer.state:
        raise RuntimeError(NO_STATE_YET)
    if not isinstance(state, dict):
        raise RuntimeError(NO_STATE_DICT)
    states: Any = state.get("state")  # pyright: ignore[reportUnknownMemberType]
    groups: Any = state.get("param_groups")  # pyright: ignore[reportUnknownMemberType]
    _check_states(states)
    if not isinstance(groups, list):
        raise RuntimeError(NO_GROUPS.format(type(groups).__name__))
    if len(groups) != len(optimizer.param_groups):  # pyright: ignore[reportUnknownArgumentType]
        raise RuntimeError(OTHER_GROUPS)
    given, start = list(parameters.values()), 0
    loans: list[_Loan] = []
    numbers: set[int] = set()
    for index, group in enumerate(optimizer.param_groups):
        options: Any = groups[index]
        _check_group(index, group, options)
        numbers.update(options["params"])
        end = start + len(options["params"])
        if end > len(given):
            raise RuntimeError(TOO_FEW)
        loans.append(_Loan(group, options, given[start:end]))
        start = end
    extra = [key for key in states if key not in numbers]
    if extra:
        raise RuntimeError(EXTRA_STATES.format(extra))
    return states, loans


def _check_states(states: Any) -> None:
    if not isinstance(states, dict):
        raise RuntimeError(NO_STATES.format(type(states).__name__))
    entries: dict[Any, Any] = states
    if any(isinstance(key, Tensor) for key in entries):
        raise RuntimeError(KEYED_BY_TENSORS)
    if any(isinstance(k, int) and not isinstance(v, dict) for k, v in entries.items()):
        raise RuntimeError(STATE_NO_DICT)


def _check_group(index: int, group: Group, options: Any) -> None:
    if not isinstance(options, dict):
        raise RuntimeError(GROUP_NO_DICT)
    lent: dict[str, Any] = options
    numbers = lent.get("params")
    if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):  # pyright: ignore[reportUnknownVariableType]
        raise RuntimeError(NO_NUMBERS)
    if len(numbers) != len(group["params"]):  # pyright: ignore[reportUnknownArgumentType]
        raise RuntimeError(OTHER_SIZE.format(index))
    only_lent = [key for key in lent if key not in group]
    only_own = [key for key in group if key not in lent]
    if only_lent or only_own:
        raise RuntimeError(OTHER_KEYS.format(index, only_lent, only_own))
