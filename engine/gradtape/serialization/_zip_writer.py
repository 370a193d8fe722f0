"""Write the archive of a saved file: a zip laid out as PyTorch lays it out.

Records are not compressed, and begin at multiples of 64 bytes, so that they can be
mapped into memory. PyTorch computes where records lie without reading their headers;
hence headers, padding and the descriptors after the data are its own, byte for byte.
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT describes the format.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, NamedTuple

_LOCAL = struct.Struct("<4s5H3L2H")
_DESCRIPTOR = struct.Struct("<4s3L")
_DESCRIPTOR64 = struct.Struct("<4sL2Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")

_UTF8, _DESCRIBED = 0x800, 0x808  # flags: name in UTF-8; sizes follow the data
_FULL = 0xFFFFFFFF
_CHUNK = 1 << 24  # bytes written at once: no copy of a large record is made

FORMAT_VERSION = b"3\n"


class _Record(NamedTuple):
    name: bytes
    flags: int
    crc: int
    size: int
    header_at: int


class ZipWriter:
    """Writes records one after the other, then the directory.

    ``file`` needs ``write()``; ``folder`` is the name that all records begin with.
    """

    def __init__(
        self, file: Any, folder: str, alignment: int = 64, crc: bool = True
    ) -> None:
        self._file = file
        self._folder = folder
        self._alignment = alignment
        self._crc = crc
        self._at = 0
        self._records: list[_Record] = []

    def write_record(self, name: str, content: Any) -> None:
        """Write a record: bytes, or anything else that is a contiguous buffer."""
        data = memoryview(content).cast("B")
        record = self._begin(name, data.nbytes)
        crc = 0
        for start in range(0, data.nbytes, _CHUNK):
            chunk = data[start : start + _CHUNK]
            if self._crc:
                crc = zlib.crc32(chunk, crc)
            self._write(chunk)
        self._describe(record._replace(crc=crc))

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leave room for a record whose data is to be filled in later."""
        record = self._begin(name, size)
        for start in range(0, size, _CHUNK):
            self._write(bytes(min(_CHUNK, size - start)))
        self._describe(record)

    def finish(self) -> None:
        """Write the records that say what the file is, and the directory."""
        self.write_record("version", FORMAT_VERSION)
        self.write_record(".data/serialization_id", self._fingerprint())
        start = self._at
        for record in self._records:
            self._write(_central(record))
        self._write(_end(len(self._records), start, self._at - start))

    def _write(self, content: Any) -> None:
        self._file.write(content)
        self._at += len(content)

    def _begin(self, name: str, size: int) -> _Record:
        full = f"{self._folder}/{name}".encode()
        flags = _DESCRIBED if size else _UTF8
        record = _Record(full, flags, 0, size, self._at)
        padding = self._padding(len(full), size)
        zeros = (0,) * 6
        self._write(
            _LOCAL.pack(b"PK\3\4", 0, flags, *zeros, len(full), len(padding)) + full
        )
        self._write(padding)
        return record

    def _padding(self, name_length: int, size: int) -> bytes:
        """Return the extra field after which the data begins at a multiple of 64."""
        start = self._at + _LOCAL.size + name_length + 4
        wide = b""
        if size >= _FULL or self._at >= _FULL:
            sizes = struct.pack("<2Q", size, size) if size >= _FULL else b""
            place = struct.pack("<Q", self._at) if self._at >= _FULL else b""
            wide = struct.pack("<2H", 1, len(sizes + place)) + sizes + place
            start += len(wide)
        fill = -start % self._alignment
        return wide + b"FB" + struct.pack("<H", fill) + b"Z" * fill

    def _describe(self, record: _Record) -> None:
        self._records.append(record)
        if not record.size:
            return
        wide = record.size >= _FULL or record.header_at >= _FULL
        layout = _DESCRIPTOR64 if wide else _DESCRIPTOR
        self._write(layout.pack(b"PK\7\10", record.crc, record.size, record.size))

    def _fingerprint(self) -> bytes:
        """Return forty digits that depend on the names and checksums of all records."""
        digest = hashlib.blake2b(digest_size=16)
        for record in self._records:
            digest.update(record.name + struct.pack("<LQ", record.crc, record.size))
        return b"%040d" % int.from_bytes(digest.digest(), "little")


def _central(record: _Record) -> bytes:
    """Return the entry of a record in the directory."""
    size, place = record.size, record.header_at
    wide = b""
    if size >= _FULL:
        wide += struct.pack("<2Q", size, size)
    if place >= _FULL:
        wide += struct.pack("<Q", place)
    extra = struct.pack("<2H", 1, len(wide)) + wide if wide else b""
    short = min(size, _FULL)
    numbers = (0, 0, record.flags, 0, 0, 0, record.crc, short, short)
    lengths = (len(record.name), len(extra), 0, 0, 0, 0)
    entry = _CENTRAL.pack(b"PK\1\2", *numbers, *lengths, min(place, _FULL))
    return entry + record.name + extra


def _end(count: int, start: int, length: int) -> bytes:
    """Return the end of the directory, with the wide form before it if needed."""
    wide = b""
    if start >= _FULL or length >= _FULL or count >= 0xFFFF:
        counts = (45, 45, 0, 0, count, count, length, start)
        wide = _END64.pack(b"PK\6\6", _END64.size - 12, *counts)
        wide += _LOCATOR64.pack(b"PK\6\7", 0, start + length, 1)
    few = min(count, 0xFFFF)
    short = (min(length, _FULL), min(start, _FULL))
    return wide + _END.pack(b"PK\5\6", 0, 0, few, few, *short, 0)
