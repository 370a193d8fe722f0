"""What stays of a finding when lines above it come and go."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from gradviz import ir
from gradviz.reporting.places import name_of
from gradviz.text.findings import Found

_DIGITS = 16  # hexadecimal, of the hash: 64 bits
_NUMBER = re.compile(r"\d+")


def fingerprint(finding: ir.Finding, found: Found, top: Path) -> str:
    """Return 16 hexadecimal digits that mean the same finding in another commit.

    They are made of the code, the file as seen from ``top``, the enclosing function
    and the text of the blamed line, its spaces apart: not of the line's number. A
    finding that blames no line is known by its message, numbers apart.

    >>> finding = ir.Finding("GV306", "cut", "warning", "It cuts.", culprit=0)
    >>> marks = set()
    >>> for line, folder in ((1, "/one"), (9, "/other")):
    ...     site = ir.Site(f"{folder}/train.py", line, line, text=" " * line + "y()")
    ...     found = ir.Snapshot("demo", sites=(site,))
    ...     marks.add(fingerprint(finding, found, Path(folder)))
    >>> len(marks), len(marks.pop())
    (1, 16)
    """
    if finding.culprit is None:
        what = ["", "", _NUMBER.sub("N", finding.message)]
    else:
        site = found.sites[finding.culprit]
        what = [name_of(site.file, top), site.function, " ".join(site.text.split())]
    text = "\0".join([finding.code, *what])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
