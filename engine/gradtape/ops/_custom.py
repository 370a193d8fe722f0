"""Where the user's own ops are found: ``ops.<namespace>.<name>``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from ._aten import OpOverload, OpOverloadPacket


class CustomOverload(OpOverload):
    """One op of the user's, and its definition, which runs it."""

    tags: list[Any]

    def __init__(self, packet: CustomPacket, name: str, run: Any) -> None:
        super().__init__(packet, name)
        self._run = run
        self._schema: Any = getattr(run, "_schema", None)


class CustomPacket(OpOverloadPacket):
    """All ops of the user's that have one name."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(name)
        self.namespace = namespace
        self._known: dict[str, CustomOverload] = {}

    def add(self, overload: str, run: Callable[..., Any]) -> CustomOverload:
        """Give it one more op."""
        self._known[overload] = found = CustomOverload(self, overload, run)
        return found

    def __getattr__(self, overload: str) -> Any:
        if overload in self._known:
            return self._known[overload]
        raise AttributeError(
            f"The underlying op of '{self}' has no overload name '{overload}'"
        )

    def overloads(self) -> list[str]:
        """Return the names of its ops."""
        return list(self._known)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        *others, last = self._known.values()
        for each in others:
            try:
                each._schema.bind(args, kwargs)
            except RuntimeError:
                continue
            return each._run(*args, **kwargs)
        return last._run(*args, **kwargs)


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


def put(op: Any, tags: list[Any]) -> CustomOverload:
    """Let ``ops`` find an op of the user's by the name in its schema."""
    namespace, _, name = op._schema.name.partition("::")
    packet = packet_of(namespace, name)
    found = packet.add(op._schema.overload_name or "default", op)
    found.tags = tags
    return found


def packet_of(namespace: str, name: str) -> CustomPacket:
    """Return the ops of a name, of which there may be none yet."""
    space = namespaces.setdefault(namespace, Namespace(namespace))
    if name not in vars(space):
        setattr(space, name, CustomPacket(namespace, name))
    found: CustomPacket = getattr(space, name)
    return found


def take_away(op: CustomOverload) -> None:
    """Let ``ops`` find an op no longer."""
    packet: Any = op.overloadpacket
    packet._known.pop(op._overloadname, None)
    if not packet._known:
        vars(namespaces[packet.namespace]).pop(packet.__name__, None)


absent: set[str] = set()
"""Names of extensions whose ops could not be loaded; their Python half still runs."""


def load_library(path: str) -> None:
    """Load ops that are built against PyTorch's C++: refused as a broken library is."""
    absent.update(PurePath(path).parts)
    raise OSError(f"Could not load this library: {path}")


# Programs ask PyTorch's own library before they use it: it is not here.
for _kind in ("acl", "bf16", "fp16"):
    _packet = packet_of("mkldnn", f"_is_mkldnn_{_kind}_supported")
    _packet.add("default", lambda: False)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"'_Ops' object has no attribute '{name}'")
    package = __name__.rpartition(".")[0]
    if find_spec(f"{package}.{name}"):  # a module of ours that nobody has imported yet
        return import_module(f"{package}.{name}")
    space = namespaces.setdefault(name, Namespace(name))
    setattr(import_module(package), name, space)
    return space
