"""An optimizer's state as plain data, and back."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .._tensor import Tensor

if TYPE_CHECKING:
    from ._optimizer import Optimizer

OTHER_GROUPS = "loaded state dict has a different number of parameter groups"
OTHER_SIZES = (
    "loaded state dict contains a parameter group that doesn't match the size of "
    "optimizer's group"
)


def pack_state(optimizer: Optimizer) -> dict[str, Any]:
    """Return state and groups with each parameter replaced by its number."""
    numbers: dict[int, int] = {}
    for group in optimizer.param_groups:
        for param in group["params"]:
            numbers.setdefault(id(param), len(numbers))
    groups = [
        {
            **{key: value for key, value in group.items() if key != "params"},
            "params": [numbers[id(param)] for param in group["params"]],
        }
        for group in optimizer.param_groups
    ]
    state = {
        numbers[id(key)] if isinstance(key, Tensor) else key: value
        for key, value in optimizer.state.items()
    }
    return {"state": state, "param_groups": groups}


def load_state(optimizer: Optimizer, loaded: dict[str, Any]) -> None:
    """Give the optimizer the loaded groups and state; see ``load_state_dict``."""
    groups, saved = optimizer.param_groups, loaded["param_groups"]
    if len(groups) != len(saved):
        raise ValueError(OTHER_GROUPS)
    sizes = [len(group["params"]) for group in groups]
    if sizes != [len(group["params"]) for group in saved]:
        raise ValueError(OTHER_SIZES)
    by_number = {
        number: param
        for old, new in zip(saved, groups, strict=True)
        for number, param in zip(old["params"], new["params"], strict=True)
    }
    state: dict[Any, Any] = defaultdict(dict)
    for key, value in loaded["state"].items():
        param = by_number.get(key)
        state[key if param is None else param] = (
            value if param is None else _fit(param, value)
        )
    for old, new in zip(saved, groups, strict=True):
        old["params"] = new["params"]
        if "param_names" in new:
            old.setdefault("param_names", new["param_names"])
    optimizer.state = state
    optimizer.param_groups = saved


def _fit(param: Tensor, value: Any, key: str | None = None) -> Any:
    """Cast loaded tensors to the parameter's dtype and device, except the counter."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        if param.dtype.is_floating_point:
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _fit(param, v, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fit(param, each) for each in value)
    return value
