"""``save``: write an object and its tensors to a file that PyTorch can read."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..utils.serialization import config
from ._legacy_load import legacy_save
from ._options import check_dill, skipping
from ._pickler import content, dump
from ._zip_writer import ZipWriter

DEFAULT_PROTOCOL = 2
"""What files are pickled with: the safe unpickler reads no other."""


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object with its tensors to a file, given by path or open for bytes.

    Tensors that share memory share it again when they are loaded, and a file holds the
    whole memory even of a small view. PyTorch reads the file, as this package reads
    PyTorch's. Raises RuntimeError for memory that is looked at as two dtypes.

    >>> import io, gradtape as torch
    >>> file = io.BytesIO()
    >>> torch.save({"epoch": 3, "weight": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'epoch': 3, 'weight': tensor([1., 1.])}
    """
    check_dill(pickle_module)
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' "
            "attribute"
        )
    if not _use_new_zipfile_serialization:
        if skipping():
            raise RuntimeError(
                "Cannot use skip_data=True with _use_new_zipfile_serialization=False"
            )
        with opened(f) as (file, _):
            legacy_save(obj, file, pickle_module, pickle_protocol)
        return
    with opened(f) as (file, folder):
        options = (config.save.storage_alignment, config.save.compute_crc32)
        archive = ZipWriter(file, folder, *options)
        _write(obj, archive, pickle_module, pickle_protocol, _disable_byteorder_record)
        archive.finish()


@contextmanager
def opened(f: Any) -> Generator[tuple[Any, str]]:
    """Yield a file to write to, and the name of the folder in its archive."""
    if not isinstance(f, str | os.PathLike):
        if not callable(f.write):
            kind = str(type(f)).strip("<>")
            raise TypeError(f"Buffer of {kind} has no callable attribute 'write'")
        yield f, "archive"
        f.flush()
        return
    path = os.fspath(f)
    parent, name = os.path.split(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    stem = name.rpartition(".")[0] or name
    with open(path, "wb") as file:
        yield file, stem if path.isascii() else "archive"


def _write(
    obj: Any, archive: ZipWriter, module: Any, protocol: int, unmarked: bool
) -> None:
    pickled, table = dump(obj, module, protocol)
    archive.write_record("data.pkl", pickled)
    archive.write_record(".format_version", b"1")
    alignment = str(config.save.storage_alignment)
    archive.write_record(".storage_alignment", alignment.encode())
    if not unmarked:
        archive.write_record("byteorder", sys.byteorder.encode())
    for key, storage in table.storages.items():
        if skipping():
            archive.write_record_metadata(f"data/{key}", storage.nbytes())
        else:
            archive.write_record(f"data/{key}", content(storage))
