"""PyTorch's names for archives as such: reading and writing records one by one."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from typing import Any

from .._tensor.tensor import wrap
from ..ops.memory.typed_storage import TypedStorage
from ..ops.memory.untyped_storage import UntypedStorage
from ..utils.serialization import config
from ._pickler import content
from ._save import opened
from ._zip_reader import ZipReader
from ._zip_writer import ZipWriter


class PyTorchFileReader:
    """The records of a saved file, by name.

    >>> import gradtape as torch
    >>> torch.save(torch.ones(2), "ones.pt")
    >>> torch._C.PyTorchFileReader("ones.pt").get_record("version")
    b'3\\n'
    """

    def __init__(self, name_or_buffer: Any) -> None:
        if isinstance(name_or_buffer, str | os.PathLike):
            with open(name_or_buffer, "rb") as file:
                name_or_buffer = mmap(file.fileno(), 0, access=ACCESS_READ)
        self._archive = ZipReader(name_or_buffer, config.save.compute_crc32)

    def has_record(self, name: str) -> bool:
        """Tell whether there is such a record."""
        return name in self._archive

    def get_all_records(self) -> list[str]:
        """Return the names of all records, in the order of the file."""
        return self._archive.names()

    def get_record(self, name: str) -> bytes:
        """Return the content of a record."""
        return self._archive.read(name)

    def get_record_offset(self, name: str) -> int:
        """Return where in the file the content of a record begins."""
        return self._archive.where(name)[0]

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """Return the content of a record as a tensor of bytes or of a dtype."""
        array = self._archive.load(name)
        return wrap(array if dtype is UntypedStorage else array.view(dtype.numpy))

    def serialization_id(self) -> str:
        """Return the digits that say which file this is."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""


class PyTorchFileWriter:
    """Writes records to a new file; ``write_end_of_file`` completes it."""

    def __init__(
        self, name_or_buffer: Any, compute_crc32: bool = True, alignment: int = 64
    ) -> None:
        self._context = opened(name_or_buffer)
        file, folder = self._context.__enter__()
        self._archive = ZipWriter(file, folder, alignment, compute_crc32)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write a record: text, bytes or a storage."""
        if isinstance(data, str):
            data = data.encode()
        if isinstance(data, UntypedStorage | TypedStorage):
            data = content(data.untyped())
        self._archive.write_record(name, memoryview(data)[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leave room for a record."""
        self._archive.write_record_metadata(name, size)

    def write_end_of_file(self) -> None:
        """Write the directory, after which nothing can be added."""
        self._archive.finish()
        self._context.__exit__(None, None, None)


@contextmanager
def _open_file_like(name_or_buffer: Any, mode: str) -> Generator[Any]:
    """Yield a file that is opened if it is given by path, and closed again."""
    if not isinstance(name_or_buffer, str | os.PathLike):
        yield name_or_buffer
        if "w" in mode:
            name_or_buffer.flush()
        return
    with open(name_or_buffer, mode) as file:
        yield file


@contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Generator[PyTorchFileReader]:
    """Yield a reader of the records of a file."""
    yield PyTorchFileReader(name_or_buffer)


@contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Generator[PyTorchFileWriter]:
    """Yield a writer of records; the file is complete when the block ends."""
    options = (config.save.compute_crc32, config.save.storage_alignment)
    writer = PyTorchFileWriter(name_or_buffer, *options)
    yield writer
    writer.write_end_of_file()
