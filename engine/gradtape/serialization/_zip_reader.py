"""Read the archive of a saved file, believing nothing that it says of itself.

What a record claims is checked against what the file has before memory is asked for,
so a file never takes more memory than its own size.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._refusals import TruncatedPickleError

_HEADER_SIZE = 30
_UTF8 = 0x800  # the flag of names in UTF-8
_CHUNK = 1 << 20
_OLDEST, _NEWEST = 1, 10
"""Versions of the format that are read; PyTorch writes 3 (or 2, before 1.6)."""

_CORRUPT = (
    " If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was "
    "transferred incorrectly, or the file was modified after saving."
)
NO_DIRECTORY = (
    "PytorchStreamReader failed reading zip archive: failed finding central directory."
    + _CORRUPT
)
_NO_RECORD = "PytorchStreamReader failed locating file {name}: file not found."
_NEVERTHELESS = (
    " (after torch.serialization.set_crc32_options(False) it is read nevertheless)"
)
_BROKEN = "PytorchStreamReader failed reading file {name}: {what}."


class _Record(NamedTuple):
    start: int
    size: int
    crc: int


class ZipReader:
    """The records of an archive that begins where the file stands.

    Raises RuntimeError for a file that is no archive, or one that was tampered with:
    records that overlap, appear twice, are compressed, or leave the file.
    """

    def __init__(self, file: Any, check_crc: bool = True) -> None:
        self._file = file
        self._check_crc = check_crc
        self._origin = file.tell()
        self._size = file.seek(0, os.SEEK_END) or file.tell()
        self._records: dict[str, _Record] = {}
        self.folder = ""
        for entry in self._entries():
            self._add(entry)
        self._refuse_overlaps()
        self._check_version()

    def _entries(self) -> list[zipfile.ZipInfo]:
        self._file.seek(self._origin)
        try:
            with zipfile.ZipFile(self._file) as archive:
                found = archive.infolist()
        except (zipfile.BadZipFile, struct.error, ValueError, EOFError, OSError):
            raise RuntimeError(NO_DIRECTORY) from None
        except (NotImplementedError, UnicodeDecodeError) as error:
            raise RuntimeError(_BROKEN.format(name="directory", what=error)) from None
        if not found:
            raise RuntimeError(NO_DIRECTORY)
        return found

    def _add(self, entry: zipfile.ZipInfo) -> None:
        folder, slash, name = entry.filename.partition("/")
        if not self._records:
            self.folder = folder
        if not slash or folder != self.folder:
            text = f"record {entry.filename!r} is not in the folder {self.folder!r}"
            raise RuntimeError(_BROKEN.format(name=entry.filename, what=text))
        if name in self._records:
            raise RuntimeError(_BROKEN.format(name=name, what="it appears twice"))
        self._records[name] = self._place(name, entry)

    def _place(self, name: str, entry: zipfile.ZipInfo) -> _Record:
        """Return where the data of a record lies, as its own header says."""
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            what = "it is compressed or encrypted, which saved files never are"
            raise RuntimeError(_BROKEN.format(name=name, what=what))
        encoding = "utf-8" if entry.flag_bits & _UTF8 else "cp437"
        written = entry.orig_filename.encode(encoding)
        self._file.seek(entry.header_offset)
        header = self._file.read(_HEADER_SIZE + len(written))
        if len(header) < _HEADER_SIZE or header[:4] != b"PK\3\4":
            raise RuntimeError(_BROKEN.format(name=name, what="it has no header"))
        name_length, extra_length = struct.unpack("<2H", header[26:30])
        if name_length != len(written) or header[_HEADER_SIZE:] != written:
            what = "its header has another name than the directory"
            raise RuntimeError(_BROKEN.format(name=name, what=what))
        start = entry.header_offset + _HEADER_SIZE + name_length + extra_length
        if entry.file_size != entry.compress_size or (
            start + entry.file_size > self._size
        ):
            what = f"its size of {entry.file_size} bytes cannot be true"
            raise RuntimeError(_BROKEN.format(name=name, what=what))
        return _Record(start, entry.file_size, entry.CRC)

    def _refuse_overlaps(self) -> None:
        end, before = 0, ""
        for name, record in sorted(self._records.items(), key=lambda item: item[1]):
            if record.start < end:
                what = f"it overlaps with {before}"
                raise RuntimeError(_BROKEN.format(name=name, what=what))
            end, before = record.start + record.size, name

    def _check_version(self) -> None:
        for name in (".data/version", "version"):
            if name in self._records:
                text = self.read(name)
                break
        else:
            raise RuntimeError(_NO_RECORD.format(name="version"))
        try:
            version = int(text[:20])
        except ValueError:
            raise RuntimeError(f"Couldn't parse the version {text!r}.") from None
        if not _OLDEST <= version <= _NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the "
                f"supported versions are {_OLDEST} to {_NEWEST}."
            )

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        """Return the names of all records, in the order of the directory."""
        return list(self._records)

    def where(self, name: str) -> tuple[int, int]:
        """Return where the data of a record begins in the file, and its size.

        Raises RuntimeError where there is no such record.
        """
        if name not in self._records:
            raise RuntimeError(_NO_RECORD.format(name=name) + _CORRUPT)
        return self._records[name][:2]

    def read(self, name: str) -> bytes:
        """Return a small record."""
        return self.load(name).tobytes()

    def load(self, name: str) -> Any:
        """Return the data of a record as a new array of bytes.

        A checksum of 0 stands for none. Raises RuntimeError where the file ends too
        early or the checksum is wrong.
        """
        start, size = self.where(name)
        found = np.empty(size, np.uint8)
        wanted = self._records[name].crc if self._check_crc else 0
        self._file.seek(start)
        crc = 0
        for chunk in read_into(self._file, found):
            if wanted:
                crc = zlib.crc32(chunk, crc)
        if wanted and crc != wanted:
            what = f"its checksum is wrong{_NEVERTHELESS}"
            raise RuntimeError(_BROKEN.format(name=name, what=what) + _CORRUPT)
        return found


def is_zip(file: Any) -> bool:
    """Tell whether an archive begins where the file stands."""
    start = file.tell()
    found = file.read(4) == b"PK\3\4"
    file.seek(start)
    return found


def read_into(file: Any, target: Any) -> Iterator[memoryview]:
    """Fill an array of bytes from where a file stands; yield the parts as they come.

    Raises TruncatedPickleError where the file ends before.
    """
    view, done = target.data, 0
    while done < target.size:
        part = view[done : done + _CHUNK]
        if hasattr(file, "readinto"):
            count = int(file.readinto(part) or 0)
        else:
            data = file.read(len(part))
            count = len(data)
            part[:count] = data
        if not count:
            raise TruncatedPickleError("The file ends in the middle of a storage.")
        yield part[:count]
        done += count
