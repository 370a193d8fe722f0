"""A page in a frame of its own, for saved notebooks; they hold the viewer once.

The first output brings the viewer along. Frames of later ones ask the other frames of
the notebook for it, by its digest, and the page checks what it gets before it runs it;
pages answer (``extension/src/hosts/lending.ts``). Where no frame has it, a picture
stands there and says what to do.
"""

from __future__ import annotations

import base64
import html
import zlib
from pathlib import Path
from string import Template

from gradviz import ir
from gradviz.render.html import packed_bundle, to_html
from gradviz.text.words import clean

TEMPLATE = Path(__file__).parent / "frame.html"

_HEIGHT = 520  # px, as the view below a cell has in JupyterLab

_MISSING = (
    "The viewer of this graph is stored once in a notebook, with the first graph, and "
    "that output is not here. Run the first cell that shows a graph again, or restart "
    "the kernel and run all cells."
)


def framed(snapshot: ir.Snapshot, text: str, picture: str, *, viewer: bool) -> str:
    """Return the page in a frame, which no kernel and no server is behind.

    ``picture`` is SVG, or "". GitHub and other readers remove frames and styles; then
    picture and text show, which are hidden otherwise. Without ``viewer`` the frame
    takes that of another output. Raises ExportError if the viewer was never built.
    """
    bundle = packed_bundle()
    title = html.escape(clean(snapshot.title, 200) or "Autograd graph")
    image = _image(picture, title)
    # The viewer is packed as it is; what it stands in is packed without it.
    page = to_html(snapshot).replace(f">{bundle}<", "><", 1)
    document = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        page=base64.b64encode(zlib.compress(page.encode("utf-8"), 9)).decode("ascii"),
        viewer=bundle if viewer else "",
        missing="" if viewer else _MISSING,
        picture="" if viewer else image,
    )
    hidden = image.replace("<img", '<img style="display: none"')
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="{title}" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0" '
        f'srcdoc="{html.escape(document)}"></iframe>\n{hidden}'
        f'<pre style="display: none">{html.escape(text)}</pre>'
    )


def holds_viewer(form: str) -> bool:
    """Tell whether other outputs of a notebook can take the viewer from this one."""
    return packed_bundle() in form


def _image(picture: str, title: str) -> str:
    if not picture:
        return ""
    data = base64.b64encode(picture.encode("utf-8")).decode("ascii")
    return f'<img alt="{title}" src="data:image/svg+xml;base64,{data}">\n'
