"""The names of PyTorch's ways to share memory, of which nothing depends here."""

from __future__ import annotations

_STRATEGIES = frozenset(("file_descriptor", "file_system"))
_chosen = {"strategy": "file_descriptor"}


def get_all_sharing_strategies() -> set[str]:
    """Return the names that :func:`set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the name that was set last."""
    return _chosen["strategy"]


def set_sharing_strategy(new_strategy: str) -> None:
    """Remember a name; tensors are copied between processes whichever it is."""
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of "
            f"{get_all_sharing_strategies()}"
        )
    _chosen["strategy"] = new_strategy
