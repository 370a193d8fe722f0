"""What saving and loading hand out: state dicts and reports of keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found no partner for, on either side."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__


class StateDict(OrderedDict[str, Any]):
    """An ordered dict that also carries the versions of the modules it came from."""

    _metadata: OrderedDict[str, dict[str, Any]]


class LoadHook:
    """A hook that wants its module first; the module is held weakly by the caller."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.module = module

    def __call__(self, *args: Any) -> Any:
        return (
            self.hook(*args) if self.module is None else self.hook(self.module, *args)
        )
