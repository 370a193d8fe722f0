"""Where the user's own ops are found: ``ops.<namespace>.<name>``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._aten import OpOverloadPacket


class CustomPacket(OpOverloadPacket):
    """An op of the user's; ``default`` is its only overload."""

    def __init__(self, namespace: str, name: str, run: Callable[..., Any]) -> None:
        super().__init__(name)
        self.namespace = namespace
        self.run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


class Namespace:
    """The user's ops of one name space."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'_OpNamespace' '{self._name}' object has no attribute '{name}'"
        )


namespaces: dict[str, Namespace] = {}
"""Those that somebody asked for."""


def put(packet: CustomPacket) -> None:
    """Let ``ops`` find an op."""
    setattr(__getattr__(packet.namespace), packet.__name__, packet)


def load_library(path: str) -> None:
    """Load ops that are built against PyTorch's C++: refused as a broken library is."""
    raise OSError(f"Could not load this library: {path}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"'_Ops' object has no attribute '{name}'")
    return namespaces.setdefault(name, Namespace(name))


# Programs ask PyTorch's own library before they use it: it is not here.
for _kind in ("acl", "bf16", "fp16"):
    put(CustomPacket("mkldnn", f"_is_mkldnn_{_kind}_supported", lambda: False))
