"""Switches around saving and loading, under the names that programs set them by."""

from __future__ import annotations

import mmap
import threading
import warnings
from enum import Enum
from typing import Any

from ..utils.serialization import config


class LoadEndianness(Enum):
    """Byte orders for files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order assumed for files that do not say theirs."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for files that do not say theirs.

    Raises TypeError for anything but a LoadEndianness or None.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Tell whether checksums are written, and checked when reading."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether checksums are written, and checked when reading.

    Files written without them can only be read while this is off.
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Return how ``load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` by default."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Set how ``load(mmap=True)`` maps files; in ``with``, for the block.

    ``mmap.MAP_SHARED`` lets writes to the tensors reach the file. Raises ValueError for
    other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        config.load.mmap_flags = self.prev


class _Skipping(threading.local):
    on = False


_now = _Skipping()


def skipping() -> bool:
    """Tell whether the contents of storages are left out."""
    return _now.on


class skip_data:
    """Leave the contents of storages out, in ``with``: files keep room for them.

    >>> import io, gradtape as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._outer = _now.on
        _now.on = True

    def __exit__(self, *exception: object) -> None:
        _now.on = self._outer


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Tell whether a module's ``__version__`` is at least the given one.

    A version that cannot be read raises RuntimeError, or counts as new enough with a
    warning.
    """
    try:
        parts = module.__version__.split(".")
        pairs = zip(req_version_tuple, parts[: len(req_version_tuple)], strict=True)
        return tuple(type(wanted)(part) for wanted, part in pairs) >= req_version_tuple
    except Exception as error:
        text = (
            f"'{module.__name__}' module version string is malformed "
            f"'{module.__version__}' and cannot be compared with tuple "
            f"{req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(text) from error
        warnings.warn(
            text + ", but continuing assuming that requirement is met", stacklevel=2
        )
        return True


def check_dill(pickle_module: Any) -> None:
    """Refuse versions of dill that are too old to subclass its pickler."""
    if pickle_module is None or pickle_module.__name__ != "dill":
        return
    if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
        raise ValueError(
            "'torch' supports dill >= 0.3.1, but you have dill "
            f"{pickle_module.__version__}. Please upgrade dill or switch to 'pickle'"
        )
