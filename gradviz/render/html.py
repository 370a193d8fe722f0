"""A snapshot as one HTML file that opens offline and asks no server for anything."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from string import Template

from gradviz import ir, ir_columns
from gradviz.errors import ExportError
from gradviz.render._words import clean
from gradviz.render.text import to_text

BUNDLE = Path(__file__).parent / "static" / "gradviz.js"

DATA_ID = "gradviz-data"

# blob: is for the layout worker, data: for images that a user copies out of the page.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'unsafe-inline' blob:",
        "style-src 'unsafe-inline'",
        "worker-src blob:",
        "img-src data: blob:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="data:,">
<style>
html, body { height: 100%; margin: 0; }
#gradviz { height: 100%; }
noscript pre { margin: 0; padding: 1rem; font: 13px/1.4 ui-monospace, monospace; }
</style>
</head>
<body>
<div id="gradviz"><noscript>
<pre>$text</pre>
</noscript></div>
<script type="application/octet-stream;base64" id="$data_id">$data</script>
<script>$bundle</script>
<script>gradviz.mountPage(document.getElementById("gradviz"));</script>
</body>
</html>
""")


def to_html(snapshot: ir.Snapshot) -> str:
    """Return the page: the data, the viewer and a plain-text fallback in one file.

    Raises ExportError if the viewer's script was never built.
    """
    data = base64.b64encode(ir_columns.pack(snapshot)).decode("ascii")
    return _PAGE.substitute(
        policy=html.escape(_POLICY),
        title=html.escape(clean(snapshot.title, 200) or "gradviz"),
        text=html.escape(to_text(snapshot, limit=200)),
        data_id=DATA_ID,
        data=data,
        bundle=_inline(read_bundle()),
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


def packed_data(page: str) -> bytes:
    """Return the deflated columns inside a page that :func:`to_html` made.

    Raises ValueError if there are none.
    """
    found = re.search(rf'<script [^>]*id="{DATA_ID}"[^>]*>([^<]*)</script>', page)
    if found is None:
        raise ValueError("not a page of gradviz")
    return base64.b64decode(found.group(1), validate=True)


def _inline(script: str) -> str:
    """Return the script such that nothing in its strings ends the script element."""
    script = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)
    return script.replace("<!--", r"<\!--")
