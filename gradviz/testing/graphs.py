"""``gradviz.assert_same_graph``: a refactoring that leaves the graph as it was."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from pathlib import Path

from gradviz.analysis.compare import FACTOR
from gradviz.analysis.diff import diff, one_pass
from gradviz.export import export_json
from gradviz.snapshots import PathLike, as_snapshot, load
from gradviz.testing.kept_graph import kept_graph

UPDATES: ContextVar[bool] = ContextVar("gradviz_updates_graphs", default=False)
"""Whether graphs are written instead of compared: ``pytest --gradviz-update``."""

_MOST_ROWS = 60
_DIFFERS = """\
the graph is not the one in {name}:
{rows}
If it is meant to differ, write it anew with `pytest --gradviz-update`."""
_MISSING = (
    "there is no graph {name} to compare with: run the test where CI is not set in the "
    "environment, which writes it, and commit it."
)


def assert_same_graph(x: object, path: PathLike, *, factor: float = FACTOR) -> None:
    """Assert that a graph is the one in a file; write the file if there is none.

    ``x`` is a tensor with a graph, a recorder or a snapshot; of several backward passes
    the last one counts. A relative ``path`` starts at the folder of the file that
    calls. Operations, shapes, dtypes, wiring, modules, hooks and saved tensors must be
    the same, and no gradient's norm may have changed by ``factor`` or more; names of
    variables, lines, addresses and values may differ.

    Raises AssertionError with the differences. ``pytest --gradviz-update`` writes the
    file anew. Where ``CI`` is set in the environment, a file that is missing is an
    error and not written: nobody would see it.

    >>> import torch, gradviz, os
    >>> folder = os.getcwd()
    >>> x = torch.ones(3, requires_grad=True)
    >>> gradviz.assert_same_graph(x.exp().sum(), f"{folder}/loss.gradviz.json")
    >>> y = x.exp()
    >>> gradviz.assert_same_graph(y.sum(), f"{folder}/loss.gradviz.json")
    >>> gradviz.assert_same_graph(x.tanh().sum(), f"{folder}/loss.gradviz.json")
    Traceback (most recent call last):
    AssertionError: the graph is not the one in loss.gradviz.json:
    ...
    """
    __tracebackhide__ = True
    file = _beside(sys._getframe(1).f_code.co_filename, path)
    now = kept_graph(one_pass(as_snapshot(x)))
    if UPDATES.get():
        export_json(now, file)
        return
    if not file.exists():
        if os.environ.get("CI"):
            raise AssertionError(_MISSING.format(name=file.name))
        export_json(now, file)
        return
    found = diff(load(file), now, factor=factor)
    if found:
        rows = found.to_text(limit=_MOST_ROWS)
        raise AssertionError(_DIFFERS.format(name=file.name, rows=rows))


def _beside(caller: str, path: PathLike) -> Path:
    """Return where a file is to be; a notebook's cell has the working folder."""
    folder = Path(caller).parent if os.path.isfile(caller) else Path.cwd()
    return folder / Path(path).expanduser()
