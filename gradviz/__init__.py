"""A debugger for the autograd graphs of PyTorch, and of gradtape, its own engine.

It shows the graph that ``backward()`` walks, what its nodes saved, the gradient along
every edge, and the line of your code behind each node. When something is wrong with
the gradients, it names the line to blame.

Around code::

    with gradviz.record() as recorder:
        loss = criterion(model(inputs), targets)
        loss.backward()
    print(recorder.diagnose())  # the line to blame, why, and what to write instead
    recorder.show()  # the graph: below the cell, or as a page in a browser

On what is there already: ``gradviz.show(loss)``, ``gradviz.diagnose(loss)`` and
``gradviz.step(loss)``, which walks backward node by node; ``gradviz.what_if(loss)``
before a pass, ``gradviz.why(model)`` after one, ``gradviz.watch(model)`` over a whole
training.

In a notebook: after ``%load_ext gradviz``, ``%gradviz loss`` shows a graph, and
``%%gradviz`` in the first line of a cell records the cell.

On the command line, without a change to the script: ``gradviz run train.py``.
``gradviz --help`` lists the other commands.

As files: ``export_html`` writes one page that opens offline, ``export_json`` a
recording that ``load`` reads back.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from gradviz import _providers
from gradviz.errors import CaptureError as CaptureError
from gradviz.errors import ExportError as ExportError
from gradviz.errors import GradvizError as GradvizError
from gradviz.errors import QuestionError as QuestionError
from gradviz.errors import SnapshotError as SnapshotError

if TYPE_CHECKING:
    from gradviz import integrations as integrations
    from gradviz import plot as plot
    from gradviz._capture import capture as capture
    from gradviz._capture import record as record
    from gradviz._capture.diagnose import diagnose as diagnose
    from gradviz._capture.why import why as why
    from gradviz.analysis.diff import diff as diff
    from gradviz.analysis.ledger import ledger as ledger
    from gradviz.analysis.merge import merge as merge
    from gradviz.derivative import check_derivative as check_derivative
    from gradviz.export import export_dot as export_dot
    from gradviz.export import export_html as export_html
    from gradviz.export import export_json as export_json
    from gradviz.export import export_png as export_png
    from gradviz.export import export_svg as export_svg
    from gradviz.notebook.extension import (
        load_ipython_extension as load_ipython_extension,
    )
    from gradviz.notebook.extension import (
        unload_ipython_extension as unload_ipython_extension,
    )
    from gradviz.showing.show import show as show
    from gradviz.snapshots import load as load
    from gradviz.stepping import step as step
    from gradviz.summarizing import summary as summary
    from gradviz.supposing import what_if as what_if
    from gradviz.testing.graphs import assert_same_graph as assert_same_graph
    from gradviz.watching import watch as watch

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "ExportError",
    "GradvizError",
    "QuestionError",
    "SnapshotError",
    "assert_same_graph",
    "capture",
    "check_derivative",
    "diagnose",
    "diff",
    "export_dot",
    "export_html",
    "export_json",
    "export_png",
    "export_svg",
    "integrations",
    "ledger",
    "load",
    "merge",
    "plot",
    "record",
    "show",
    "step",
    "summary",
    "watch",
    "what_if",
    "why",
]

# Imported when first asked for: `import gradviz` costs a few milliseconds.
_HOMES = {
    "assert_same_graph": "gradviz.testing.graphs",
    "capture": "gradviz._capture",
    "check_derivative": "gradviz.derivative",
    "diagnose": "gradviz._capture.diagnose",
    "diff": "gradviz.analysis.diff",
    "export_dot": "gradviz.export",
    "export_html": "gradviz.export",
    "export_json": "gradviz.export",
    "export_png": "gradviz.export",
    "export_svg": "gradviz.export",
    "ledger": "gradviz.analysis.ledger",
    "load": "gradviz.snapshots",
    "load_ipython_extension": "gradviz.notebook.extension",
    "merge": "gradviz.analysis.merge",
    "record": "gradviz._capture",
    "show": "gradviz.showing.show",
    "step": "gradviz.stepping",
    "summary": "gradviz.summarizing",
    "unload_ipython_extension": "gradviz.notebook.extension",
    "watch": "gradviz.watching",
    "what_if": "gradviz.supposing",
    "why": "gradviz._capture.why",
}


# What rooms ask for that may not import these homes, see `_providers.py`.
_PROVIDED = {
    "capture": "gradviz._capture",
    "graph_services": "gradviz.offers",
    "recording_services": "gradviz.offers",
}

_ROOMS = ("integrations", "plot")  # packages that are used through an attribute


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"gradviz.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gradviz' has no attribute {name!r}")
    value = _attribute(home, name)
    globals()[name] = value
    return value


def _attribute(home: str, name: str) -> Any:
    return getattr(importlib.import_module(home), name)


for _name, _home in _PROVIDED.items():
    _providers.provide(_name, functools.partial(_attribute, _home, _name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
