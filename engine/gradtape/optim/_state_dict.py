"""An optimizer's state as plain data, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from .._dtypes import float32
from .._tensor.tensor import Tensor

if TYPE_CHECKING:
    from .optimizer import Optimizer

OTHER_GROUPS = "loaded state dict has a different number of parameter groups"
OTHER_SIZES = (
    "loaded state dict contains a parameter group that doesn't match the size of "
    "optimizer's group"
)


def pack_state(optimizer: Optimizer) -> dict[str, Any]:
    """Return state and groups with each parameter replaced by its number."""
    hooks = optimizer.__dict__
    for before in hooks["_optimizer_state_dict_pre_hooks"].values():
        before(optimizer)
    numbers: dict[int, int] = {}
    total = 0
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        for number, param in enumerate(group["params"], total):
            numbers.setdefault(id(param), number)
        packed = {key: value for key, value in group.items() if key != "params"}
        packed["params"] = [numbers[id(param)] for param in group["params"]]
        groups.append(packed)
        total += len(packed["params"])
    state = {
        numbers[id(key)] if isinstance(key, Tensor) else key: value
        for key, value in optimizer.state.items()
    }
    result: dict[str, Any] = {"state": state, "param_groups": groups}
    for after in hooks["_optimizer_state_dict_post_hooks"].values():
        changed = after(optimizer, result)
        if changed is not None:
            result = changed
    return result


def load_state(optimizer: Optimizer, loaded: dict[str, Any]) -> None:
    """Give the optimizer the loaded groups and state; see ``load_state_dict``."""
    hooks = optimizer.__dict__
    loaded = loaded.copy()
    for before in hooks["_optimizer_load_state_dict_pre_hooks"].values():
        changed = before(optimizer, loaded)
        if changed is not None:
            loaded = changed
    groups, saved = optimizer.param_groups, deepcopy(loaded["param_groups"])
    by_number = _match(groups, saved)
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in loaded["state"].items():
        param = by_number.get(key)
        if param is None:
            state[key] = value
        else:
            state[param] = _fit(
                optimizer, param, value, key, loaded["param_groups"], None
            )
    for old, new in zip(saved, groups, strict=True):
        old["params"] = new["params"]
        if "param_names" in new:
            old.setdefault("param_names", new["param_names"])
    optimizer.__setstate__({"state": state, "param_groups": saved})
    for after in hooks["_optimizer_load_state_dict_post_hooks"].values():
        after(optimizer)


def _match(
    groups: list[dict[str, Any]], saved: list[dict[str, Any]]
) -> dict[Any, Tensor]:
    """Return the parameter of each number, or raise where the groups differ."""
    if len(groups) != len(saved):
        raise ValueError(OTHER_GROUPS)
    sizes = [len(group["params"]) for group in groups]
    if sizes != [len(group["params"]) for group in saved]:
        raise ValueError(OTHER_SIZES)
    return {
        number: param
        for old, new in zip(saved, groups, strict=True)
        for number, param in zip(old["params"], new["params"], strict=True)
    }


def _fit(
    optimizer: Optimizer,
    param: Tensor,
    value: Any,
    number: Any,
    groups: list[dict[str, Any]],
    key: Hashable,
) -> Any:
    """Let the optimizer's policy see every tensor within ``value``."""
    if isinstance(value, Tensor):
        return optimizer._process_value_according_to_param_policy(
            param, value, number, groups, key
        )
    if isinstance(value, dict):
        return {
            name: _fit(optimizer, param, each, number, groups, name)
            for name, each in value.items()
        }
    if isinstance(value, Iterable) and not isinstance(value, str):
        kind: Any = type(value)
        return kind(
            _fit(optimizer, param, each, number, groups, None) for each in value
        )
    return value


def fit_to(
    param: Tensor,
    value: Tensor,
    number: Any,
    groups: list[dict[str, Any]],
    key: Hashable,
) -> Tensor:
    """Cast a loaded tensor to the parameter's dtype and device, except the counter."""
    group = next((g for g in groups if number in g["params"]), {})
    if key == "step":
        if group.get("capturable", False) or group.get("fused", False):
            return value.to(dtype=float32, device=param.device)
        return value
    if param.dtype.is_floating_point:
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
