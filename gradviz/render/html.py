"""A snapshot as one HTML file that opens offline and asks no server for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from functools import lru_cache
from pathlib import Path
from string import Template

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.ir import columns as ir_columns
from gradviz.render.text import to_text
from gradviz.text.words import clean

BUNDLE = Path(__file__).parent / "static" / "gradviz.js"

# Shared with the view, which writes such a page too. Its policy runs one inline script,
# by its hash. blob: is for what that one unpacks: the viewer, whose layout worker is
# another; data: for images that a user copies out of the page.
TEMPLATE = Path(__file__).parent / "page.html"


def to_html(snapshot: ir.Snapshot) -> str:
    """Return the page: the data, the viewer and a plain-text fallback in one file.

    Raises ExportError if the viewer's script was never built.
    """
    data = base64.b64encode(ir_columns.pack(snapshot)).decode("ascii")
    bundle = read_bundle()
    template = Template(TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(clean(snapshot.title, 200) or "gradviz"),
        text=html.escape(to_text(snapshot, limit=200)),
        data=data,
        view="",
        bundle=_packed(bundle),
        integrity=_integrity(bundle),
    )


def read_bundle() -> str:
    """Return the viewer's script; raise ExportError if it was never built."""
    try:
        return BUNDLE.read_text(encoding="utf-8")
    except OSError:
        raise ExportError(
            f"The page's script {BUNDLE} is missing; build it with "
            "`python -m tools.frontend`, or install gradviz from a wheel, which has it."
        ) from None


def packed_bundle() -> str:
    """Return the viewer's script as pages hold it: base64 of a zlib stream."""
    return _packed(read_bundle())


@lru_cache(maxsize=1)
def _integrity(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


@lru_cache(maxsize=1)  # a notebook writes a page for every graph it shows
def _packed(script: str) -> str:
    return base64.b64encode(zlib.compress(script.encode("utf-8"), 9)).decode("ascii")
