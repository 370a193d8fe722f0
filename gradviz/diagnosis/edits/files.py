"""Edits in the bytes of a file: encoding, line ends and all other lines stay."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable

from gradviz import ir

_LINE_END = re.compile(r"\r\n|\r|\n")


def text_of(data: bytes) -> str:
    r"""Return a source as Python reads it, every line ended by ``\n``."""
    return io.TextIOWrapper(io.BytesIO(data), _encoding(data)).read()


def patched(data: bytes, replacements: Iterable[ir.Replacement]) -> bytes:
    r"""Return a source with replacements made, with the line ends that it had.

    >>> row = ir.Replacement("a.py", 2, 5, 2, 6, "2\nz = 3")
    >>> patched(b"x = 1\r\ny = 1\r\n", [row])
    b'x = 1\r\ny = 2\r\nz = 3\r\n'
    """
    encoding = _encoding(data)
    mark = codecs.BOM_UTF8 if encoding == "utf-8-sig" else b""
    encoding = encoding.removesuffix("-sig")
    text = data[len(mark) :].decode(encoding)
    ends = list(_LINE_END.finditer(text))
    starts = [0, *(each.end() for each in ends), len(text)]
    usual = Counter(each[0] for each in ends).most_common(1)
    parts: list[str] = []
    place = 0
    for row in replacements:
        start = starts[row.line - 1] + row.column - 1
        end = ends[row.line - 1][0] if row.line <= len(ends) else ""
        end = end or (usual[0][0] if usual else "\n")
        parts += [text[place:start], row.text.replace("\n", end)]
        place = min(
            starts[min(row.end_line, len(starts)) - 1] + row.end_column - 1, len(text)
        )
    return mark + "".join([*parts, text[place:]]).encode(encoding)


def _encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
