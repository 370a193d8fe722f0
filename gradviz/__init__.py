"""gradviz: the interactive notebook debugger for autograd graphs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradviz.errors import CaptureError as CaptureError
from gradviz.errors import ExportError as ExportError
from gradviz.errors import GradvizError as GradvizError
from gradviz.errors import SnapshotError as SnapshotError

if TYPE_CHECKING:
    from gradviz import plot as plot
    from gradviz._capture import capture as capture
    from gradviz._capture import record as record
    from gradviz._diagnose import diagnose as diagnose
    from gradviz._show import show as show
    from gradviz.analysis.diff import diff as diff
    from gradviz.analysis.ledger import ledger as ledger
    from gradviz.analysis.merge import merge as merge
    from gradviz.derivative import check_derivative as check_derivative
    from gradviz.export import export_dot as export_dot
    from gradviz.export import export_html as export_html
    from gradviz.export import export_json as export_json
    from gradviz.export import export_png as export_png
    from gradviz.export import export_svg as export_svg
    from gradviz.export import load as load
    from gradviz.magic import load_ipython_extension as load_ipython_extension
    from gradviz.magic import unload_ipython_extension as unload_ipython_extension
    from gradviz.stepping import step as step
    from gradviz.watching import watch as watch

__version__ = "0.1.0"

# Imported when first asked for: `import gradviz` costs a few milliseconds.
_HOMES = {
    "capture": "gradviz._capture",
    "check_derivative": "gradviz.derivative",
    "diagnose": "gradviz._diagnose",
    "diff": "gradviz.analysis.diff",
    "export_dot": "gradviz.export",
    "export_html": "gradviz.export",
    "export_json": "gradviz.export",
    "export_png": "gradviz.export",
    "export_svg": "gradviz.export",
    "ledger": "gradviz.analysis.ledger",
    "load": "gradviz.export",
    "load_ipython_extension": "gradviz.magic",
    "merge": "gradviz.analysis.merge",
    "record": "gradviz._capture",
    "show": "gradviz._show",
    "step": "gradviz.stepping",
    "unload_ipython_extension": "gradviz.magic",
    "watch": "gradviz.watching",
}


_ROOMS = ("plot",)  # packages that are used through an attribute


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"gradviz.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gradviz' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
