"""How one file is read: which unpickler, and where its storages go."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

from ._location import MAP_LOCATION, Restore, restorer
from ._names import find
from ._safe_unpickler import SafeUnpickler


class Reading(NamedTuple):
    """What the caller of ``load`` asked for."""

    map_location: MAP_LOCATION
    module: Any
    """The pickle module, or None for the safe unpickler."""
    options: dict[str, Any]

    @property
    def restore(self) -> Restore:
        """The function that brings storages to their place."""
        return restorer(self.map_location)

    def load(self, file: Any, persistent_load: Callable[[Any], Any] | None) -> Any:
        """Return the object of the pickle that begins where the file stands.

        Raises what the unpickler does.
        """
        if self.module is None:
            encoding = self.options["encoding"]
            return SafeUnpickler(file, persistent_load, encoding).load()
        unpickler = _naming(self.module)(file, **self.options)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    def loads(self, content: bytes, persistent_load: Callable[[Any], Any]) -> Any:
        """Return the object of a pickle in memory."""
        return self.load(io.BytesIO(content), persistent_load)


def _naming(pickle_module: Any) -> Any:
    """Return a subclass of the module's unpickler that finds our things by any name."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] == "torch":
                return find(module, name)
            return super().find_class(module, name)

    return Unpickler
