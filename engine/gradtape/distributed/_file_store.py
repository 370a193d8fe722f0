"""A store in a file that processes share."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ._store import ACTIONS, Store

__all__ = ["FileStore"]

_PAUSE_S = 0.01


class FileStore(Store):
    """A store in a file, for processes that see the same file system.

    The file is JSON. Each use locks, reads and rewrites it, which suits the few values
    that a start needs. Remove an old file before a new start.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)
        self.world_size = world_size
        Path(self.path).touch()

    def _do(self, action: str, keys: list[str], *more: Any) -> Any:
        with _locked(self.path) as file:
            data = json.loads(file.read() or "{}")
            before = dict(data)
            result = ACTIONS[action](data, keys, *more)
            if data != before:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(data))
            return result

    def _wait(self, keys: list[str], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE_S)
        return True

    def has_extended_api(self) -> bool:
        """Tell that PyTorch's has none, although `append` and the like work here."""
        return False


@contextmanager
def _locked(path: str) -> Generator[IO[str]]:
    try:
        import fcntl
    except ImportError:
        raise NotImplementedError(
            "FileStore needs file locks of Unix; use init_method='tcp://…'"
        ) from None
    with open(path, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file  # closing it writes what is left, and unlocks
