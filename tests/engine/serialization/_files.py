"""Saved files in memory: made by either engine, taken apart, put together wrongly."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any


def saved(module: Any, obj: Any, **options: Any) -> bytes:
    """Return the file that an engine writes for an object."""
    file = io.BytesIO()
    module.save(obj, file, **options)
    return file.getvalue()


def loaded(module: Any, content: bytes, **options: Any) -> Any:
    """Return what an engine reads from a file."""
    return module.load(io.BytesIO(content), **options)


def record(content: bytes, name: str) -> bytes:
    """Return one record of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(f"archive/{name}")


def rezipped(
    content: bytes,
    changes: Mapping[str, bytes] | None = None,
    drop: Iterable[str] = (),
    compression: int = zipfile.ZIP_STORED,
) -> bytes:
    """Return a file with some records changed, added or dropped."""
    changed = {f"archive/{name}": data for name, data in (changes or {}).items()}
    dropped = {f"archive/{name}" for name in drop}
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(file, "w", compression) as new,
    ):
        for name in old.namelist():
            if name not in dropped:
                new.writestr(name, changed.pop(name, old.read(name)))
        for name, data in changed.items():
            new.writestr(name, data)
    return file.getvalue()


def with_pickle(pickled: bytes, content: bytes) -> bytes:
    """Return a file whose pickle is another one."""
    return rezipped(content, {"data.pkl": pickled})
