"""``nn.modules.utils``: sizes per dimension, and names without a prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = [
    "_list_with_default",
    "_reverse_repeat_tuple",
    "consume_prefix_in_state_dict_if_present",
]

Sizes = tuple[int, ...]


def ntuple(value: Any, count: int) -> Sizes:
    """Return one number per dimension; what is iterable is taken as it is."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def _reverse_repeat_tuple(sizes: Sizes, times: int) -> Sizes:
    """Return each size ``times`` times, last dimension first, as ``pad`` wants it."""
    return tuple(size for size in reversed(sizes) for _ in range(times))


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Sizes]:
    """Return a function that gives one number ``n`` times, and tuples as they are."""

    def parse(x: Any) -> Sizes:
        return ntuple(x, n)

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _list_with_default(
    out_size: int | Sequence[int | None], defaults: Sequence[int]
) -> Any:
    """Return sizes in which None stands for the last of the defaults."""
    if isinstance(out_size, (int, float)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    pairs = zip(out_size, defaults[-len(out_size) :], strict=True)
    return [default if size is None else size for size, default in pairs]


def consume_prefix_in_state_dict_if_present(
    state_dict: dict[str, Any], prefix: str
) -> None:
    """Cut a prefix off the names of a state dict, in place, where they have it.

    A model inside DataParallel or DistributedDataParallel saves names that begin with
    ``module.``; this lets the model itself load them. The versions in ``_metadata``
    are renamed too.

    >>> state = {"module.weight": 1, "step": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'step': 2, 'weight': 1}
    """
    _cut(state_dict, prefix)
    metadata = getattr(state_dict, "_metadata", {})
    _cut(metadata, prefix)
    outer = prefix.removesuffix(".")  # the entry of the module that held the others
    if outer in metadata:
        metadata[""] = metadata.pop(outer)


def _cut(names: dict[str, Any], prefix: str) -> None:
    for key in [key for key in names if key.startswith(prefix)]:
        names[key[len(prefix) :]] = names.pop(key)
