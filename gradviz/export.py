"""Files out: write a recording as a page, picture or data.

A file is replaced only once the new one is whole, so a failure loses nothing.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.snapshots import UNUSABLE, PathLike, as_snapshot, reason


def export_html(x: object, path: PathLike) -> Path:
    """Write a page that shows the graph, opens offline and needs no other file.

    ``x`` is a snapshot, a recorder, or a tensor with a graph behind it. Returns the
    path; raises ExportError if it cannot be written, and then leaves the file that was
    there before as it was.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.export_html((x * x).sum(), "graph.html").name
    'graph.html'
    """
    return write_as("html", x, path)


def export_json(x: object, path: PathLike) -> Path:
    """Write the snapshot as JSON, which ``load`` reads; see :func:`export_html`.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.export_json((x * x).sum(), "graph.gradviz.json").name
    'graph.gradviz.json'
    """
    return write_as("json", x, path)


def export_svg(x: object, path: PathLike) -> Path:
    """Write a picture of the graph as SVG; see :func:`export_html`.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.export_svg((x * x).sum(), "graph.svg").read_text().startswith("<svg ")
    True
    """
    return write_as("svg", x, path)


def export_dot(x: object, path: PathLike) -> Path:
    """Write the graph in the DOT language, or as Graphviz draws it.

    The suffix of the path decides: ``.png``, ``.pdf`` and ``.svg`` are drawn by the
    package ``graphviz``, where it is installed; anything else is written in DOT.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.export_dot((x * x).sum(), "graph.dot").read_text().splitlines()[0]
    'digraph gradviz {'
    """
    form = Path(path).suffix.lower().removeprefix(".")
    write = _drawn(form) if form in _DRAWN_BY_GRAPHVIZ else _dot
    return write_bytes(write(as_snapshot(x)), path)


def export_png(x: object, path: PathLike) -> Path:
    """Write a picture in pixels, drawn by the package ``graphviz``.

    Raises ExportError where that or its program ``dot`` is not installed; see
    :func:`export_html`.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.export_png((x * x).sum(), "graph.png").name  # doctest: +SKIP
    'graph.png'
    """
    return write_as("png", x, path)


def write_as(form: str, x: object, path: PathLike) -> Path:
    """Write ``x`` in one of the :data:`FORMS`; see :func:`export_html`."""
    return write_bytes(FORMS[form](as_snapshot(x)), path)


def write_bytes(data: bytes, path: PathLike) -> Path:
    """Put the data at the path, whole or not at all; raise ExportError if not."""
    path = check_target(path)
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except UNUSABLE as error:
        raise ExportError(f"{path} cannot be written: {reason(error)}.") from None
    return path


def check_target(path: PathLike) -> Path:
    """Raise ExportError if it is plain now that the path cannot be written later."""
    path = Path(path)
    try:
        path = path.expanduser()
        hindrance = _hindrance(path)
    except UNUSABLE as error:
        hindrance = f"cannot be written: {reason(error)}"
    if hindrance:
        raise ExportError(f"{path} {hindrance}.")
    return path


def _hindrance(path: Path) -> str:
    folder = path.parent
    if path.is_dir():
        return "is a folder; name a file in it"
    if not folder.exists():
        return f"cannot be written: there is no folder {folder}"
    if not folder.is_dir():
        return f"cannot be written: {folder} is not a folder"
    if not path.exists() and not os.access(folder, os.W_OK):
        return "cannot be written: the folder is read-only"
    return ""


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)  # or a crash may leave the name and no data
        Path(name).chmod(_mode(path))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file there, or those a new file would get.

    Whoever wrote it may read it, whatever the mask: some Pyodides mask everything.
    """
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o600 | 0o666 & ~mask


def _html(snapshot: ir.Snapshot) -> bytes:
    from gradviz.render.html import to_html

    return to_html(snapshot).encode("utf-8")


def _svg(snapshot: ir.Snapshot) -> bytes:
    from gradviz.render.svg import to_svg

    return to_svg(snapshot).encode("utf-8")


def _dot(snapshot: ir.Snapshot) -> bytes:
    from gradviz.render.dot import to_dot

    return to_dot(snapshot).encode("utf-8") + b"\n"


def _drawn(form: str) -> Callable[[ir.Snapshot], bytes]:
    def drawn(snapshot: ir.Snapshot) -> bytes:
        from gradviz.render.dot import draw

        return draw(snapshot, form)

    return drawn


def _model_explorer(snapshot: ir.Snapshot) -> bytes:
    from gradviz.render.model_explorer import to_model_explorer

    return to_model_explorer(snapshot).encode("ascii") + b"\n"


def _text(snapshot: ir.Snapshot) -> bytes:
    from gradviz.render.text import to_text

    return to_text(snapshot, limit=10_000).encode("utf-8") + b"\n"


def _json(snapshot: ir.Snapshot) -> bytes:
    return ir_json.dumps(snapshot).encode("ascii") + b"\n"


# By the suffix of the file, or the name of the format.
FORMS: dict[str, Callable[[ir.Snapshot], bytes]] = {
    "html": _html,
    "svg": _svg,
    "dot": _dot,
    "json": _json,
    "txt": _text,
    "gvc": ir_columns.encode,
    "png": _drawn("png"),
    "pdf": _drawn("pdf"),
    "model-explorer": _model_explorer,
}
_DRAWN_BY_GRAPHVIZ = ("png", "pdf", "svg")
