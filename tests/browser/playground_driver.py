"""Stands for tools/in_browser.py where Pyodide has no NumPy: shows a stored snapshot.

A program is run as it is; where it defines `shown`, that snapshot's page and findings
are what came of it.
"""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.ir.json import loads
from gradviz.reporting.document import document
from gradviz.reporting.report import Report


def warm_up() -> None:
    """Load nothing: what is needed is there."""


def run(source: str) -> str:
    """Run a program; return what came of it, as the page wants it."""
    names: dict[str, Any] = {"STORED": str(Path(__file__).with_name("stored.json"))}
    try:
        exec(compile(source, "program.py", "exec"), names)
    except Exception:
        traceback.print_exc()
        return json.dumps({"status": 1, "page": None, "found": None})
    if "shown" not in names:
        return json.dumps({"status": 0, "page": None, "found": None})
    stored = Path(names["shown"])
    page = stored.with_suffix(".html").read_text("utf-8")  # to make one needs NumPy
    snapshot = loads(stored.read_text("utf-8"))
    tables = snapshot.findings, snapshot.sites, snapshot.sources
    diagnosis = Diagnosis(*tables, replacements=snapshot.replacements)
    report = Report(diagnosis, "program.py", Path("/"))
    came = {"status": 0, "page": page, "found": document(report)}
    return json.dumps(came)
