"""Edits in the bytes of a file: encoding, line ends and all other lines stay."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterable

from gradviz import ir
from gradviz.diagnosis.edits.draft import applied

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
    text = data[len(mark) :].decode(encoding)
    ends = _LINE_END.findall(text)
    usual = max(ends, key=ends.count, default="\n")
    lines = _LINE_END.split(text)
    marked = "\n".join(lines)
    rows = list(replacements)
    changed = applied(marked, rows)
    if len(set(ends)) <= 1:
        return mark + changed.replace("\n", usual).encode(encoding)
    return mark + _with_ends(marked, changed, ends, usual).encode(encoding)


def _with_ends(before: str, after: str, ends: list[str], usual: str) -> str:
    """Give each line that was there before the end that it had."""
    import difflib

    old, new = before.split("\n"), after.split("\n")
    made = [usual] * len(new)
    matches = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for block in matches.get_matching_blocks():
        for each in range(block.size):
            if block.a + each < len(ends):
                made[block.b + each] = ends[block.a + each]
    made[-1] = ""
    return "".join(line + end for line, end in zip(new, made, strict=True))


def _encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
