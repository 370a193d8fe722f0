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
"""Those that an op was put into."""


def put(packet: CustomPacket) -> None:
    """Let ``ops`` find an op."""
    space = namespaces.setdefault(packet.namespace, Namespace(packet.namespace))
    setattr(space, packet.__name__, packet)


# Programs ask PyTorch's own library before they use it: it is not here.
for _kind in ("acl", "bf16", "fp16"):
    put(CustomPacket("mkldnn", f"_is_mkldnn_{_kind}_supported", lambda: False))


def __getattr__(name: str) -> Any:
    if name in namespaces:
        return namespaces[name]
    raise AttributeError(f"'_Ops' object has no attribute '{name}'")
