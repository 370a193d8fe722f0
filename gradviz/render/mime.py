"""A snapshot in every form that a notebook may show, for the notebook to choose."""

from __future__ import annotations

import base64
import html
import json
import zlib
from dataclasses import replace
from typing import Any

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.ir import json as ir_json
from gradviz.render.card import card, is_failure
from gradviz.render.html import to_html
from gradviz.render.svg import to_svg
from gradviz.render.text import to_text
from gradviz.text.words import clean

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

_HEIGHT = 520  # px, as the view below a cell has in JupyterLab

# Packed, the page is a third as long. Scripts run, but with no access to the notebook.
_LOADER = """\
<!DOCTYPE html><meta charset="utf-8"><script>(async () => {
const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
const inflated = new DecompressionStream("deflate");
const stream = new Blob([bytes]).stream().pipeThrough(inflated);
const page = await new Response(stream).text();
document.open(); document.write(page); document.close();
})();</script>"""


def mimebundle(snapshot: ir.Snapshot) -> dict[str, Any]:
    """Return the forms by MIME type; what would be too large is left out.

    The text is always there. The page is missing if its script was never built.

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
    page = _failure(snapshot) if is_failure(snapshot) else _framed(snapshot, text)
    if page is not None and len(page) <= MAX_HTML:
        forms[HTML] = page
    if 0 < len(snapshot.nodes) <= MAX_SVG_NODES:
        picture = to_svg(snapshot)
        if len(picture) <= MAX_SVG:
            forms[SVG] = picture
    return forms


def _parse(document: str) -> dict[str, Any]:
    parsed = json.loads(document)
    if "\\ud" not in document:
        return parsed
    # Notebooks are UTF-8, which has no place for half of a surrogate pair.
    text = json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text)


def _failure(snapshot: ir.Snapshot) -> str:
    """Return why a cell failed, and the page of its graph, if any, folded away."""
    told = card(snapshot)
    page = _framed(snapshot, to_text(replace(snapshot, findings=())))
    if page is None or not snapshot.nodes or len(told) + len(page) > MAX_HTML:
        return told
    return f"{told}\n<details><summary>Show in graph</summary>\n{page}\n</details>"


def _framed(snapshot: ir.Snapshot, text: str) -> str | None:
    """Return the page in a frame of its own, which no kernel and no server is behind.

    GitHub and other readers remove frames and styles; then the hidden text shows.
    """
    try:
        packed = zlib.compress(to_html(snapshot).encode("utf-8"), 9)
    except ExportError:
        return None
    page = _LOADER % base64.b64encode(packed).decode("ascii")
    title = clean(snapshot.title, 200) or "Autograd graph"
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="{html.escape(title)}" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0" '
        f'srcdoc="{html.escape(page)}"></iframe>\n'
        f'<pre style="display: none">{html.escape(text)}</pre>'
    )
