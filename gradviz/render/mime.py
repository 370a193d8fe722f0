"""A snapshot in every form that a notebook may show, for the notebook to choose."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.ir import json as ir_json
from gradviz.render.card import card, is_failure
from gradviz.render.frame import framed, holds_viewer
from gradviz.render.svg import to_svg
from gradviz.render.text import to_text

SNAPSHOT = ir_json.MIME_TYPE
HTML = "text/html"
SVG = "image/svg+xml"
TEXT = "text/plain"

# A saved notebook holds every form, and a notebook of more than some ten megabytes is
# slow to open. So each form has to be worth its place: the JSON is what JupyterLab
# shows; page and picture are for places that cannot, and only repeat it.
MAX_JSON = 8_000_000
MAX_HTML = 500_000
MAX_SVG = 100_000
MAX_SVG_NODES = 300  # beyond, the picture is only collapsed modules, or a sentence


def mimebundle(snapshot: ir.Snapshot, *, viewer: bool = True) -> dict[str, Any]:
    """Return the forms by MIME type; what would be too large is left out.

    The text is always there. The page is missing if its script was never built; without
    ``viewer`` it takes the viewer of another output of the notebook.

    >>> from gradviz import ir
    >>> bundle = mimebundle(ir.Snapshot("demo 1.0", "nothing"))
    >>> print(bundle["text/plain"])
    nothing (demo 1.0): no operation with a gradient
    Nothing was recorded.
    >>> bundle["application/vnd.gradviz+json"]["title"]
    'nothing'
    """
    text = to_text(snapshot)
    forms: dict[str, Any] = {TEXT: text}
    document = ir_json.dumps(snapshot)
    if len(document) <= MAX_JSON:
        forms[SNAPSHOT] = _parse(document)
    picture = _picture(snapshot)
    if picture:
        forms[SVG] = picture
    if is_failure(snapshot):
        page = _failure(snapshot, picture, viewer)
    else:
        page = _framed(snapshot, text, picture, viewer)
    if page is not None and len(page) <= MAX_HTML:
        forms[HTML] = page
    return forms


def stores_viewer(forms: dict[str, Any]) -> bool:
    """Tell whether later outputs of a notebook can do without the viewer."""
    return HTML in forms and holds_viewer(forms[HTML])


def _picture(snapshot: ir.Snapshot) -> str:
    """Return what shows where no script runs; "" where it is too large."""
    if not 0 < len(snapshot.nodes) <= MAX_SVG_NODES:
        return ""
    picture = to_svg(snapshot)
    return picture if len(picture) <= MAX_SVG else ""


def _parse(document: str) -> dict[str, Any]:
    parsed = json.loads(document)
    if "\\ud" not in document:
        return parsed
    # Notebooks are UTF-8, which has no place for half of a surrogate pair.
    text = json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text)


def _failure(snapshot: ir.Snapshot, picture: str, viewer: bool) -> str:
    """Return why a cell failed, and the page of its graph, if any, folded away."""
    told = card(snapshot)
    text = to_text(replace(snapshot, findings=()))
    page = _framed(snapshot, text, picture, viewer)
    if page is None or not snapshot.nodes or len(told) + len(page) > MAX_HTML:
        return told
    return f"{told}\n<details><summary>Show in graph</summary>\n{page}\n</details>"


def _framed(snapshot: ir.Snapshot, text: str, picture: str, viewer: bool) -> str | None:
    try:
        return framed(snapshot, text, picture, viewer=viewer)
    except ExportError:
        return None
