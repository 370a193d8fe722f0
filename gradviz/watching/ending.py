"""The file that a watch leaves behind, however the training ends."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.watching.ranks import path_of_rank


class Closable(Protocol):
    """What can be closed at the end of the process."""

    def close(self) -> None: ...
    def note_error(self, error: BaseException) -> None: ...


AUTO = "auto"


def page_for(asked: str | os.PathLike[str] | None, rank: int | None) -> Path | None:
    """Return where a watch writes, with the rank in the name, or None for nowhere.

    Raises ExportError if that was asked for and is plainly impossible: before hours of
    training, not after.
    """
    from gradviz.export import check_target

    page = _default_page(rank) if asked == AUTO else asked
    if page is None:
        return None
    path = path_of_rank(Path(page).expanduser(), rank).absolute()  # chdir may follow
    return path if asked == AUTO else check_target(path)


def _default_page(rank: int | None) -> Path | None:
    """Return where a watch writes if nobody says: nowhere in a notebook.

    One of several processes writes data, for `gradviz merge` to put together.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if hasattr(shell, "kernel"):
        return None
    return Path("gradviz-watch.html" if rank is None else "gradviz-watch.json")


def at_exit(handle: Closable) -> Callable[[], None]:
    """Close the handle when Python ends; return a function that forgets it.

    That is also how an interrupt or an exception ends that nobody catches. A forked
    child leaves the file to its parent.
    """
    reference, process = weakref.ref(handle), os.getpid()

    def ended() -> None:
        alive = reference()
        if alive is not None and os.getpid() == process:
            with suppress(Exception):
                error = _last_error()
                if error is not None:
                    alive.note_error(error)
                alive.close()

    atexit.register(ended)
    return lambda: atexit.unregister(ended)


def _last_error() -> BaseException | None:
    """Return what ended the main program, if an exception did that nobody caught."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def write(snapshot: ir.Snapshot, path: Path, say: Callable[[str], None]) -> Path:
    """Write the history; where the path has become impossible, into another folder.

    Where the viewer was never built, it is written as data.
    """
    from gradviz.export import FORMS, write_as
    from gradviz.render.html import BUNDLE

    form = path.suffix.lstrip(".").lower()
    form = form if form in FORMS else "html"
    if form == "html" and not BUNDLE.exists():
        form, path = "json", path.with_suffix(".json")
    try:
        return write_as(form, snapshot, path)
    except ExportError as error:
        say(str(error))
        folder = Path(tempfile.mkdtemp(prefix="gradviz-"))
        return write_as(form, snapshot, folder / path.name)
