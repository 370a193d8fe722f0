"""Run the tour and store what a reader on a code host can see: pictures and text.

``python -m tools.notebooks`` rewrites ``notebooks/*.ipynb``. Pages, recordings and
widgets are left out: hosts do not show them, and they are large.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools import frontend

ROOT = frontend.ROOT
TOUR = sorted((ROOT / "notebooks").glob("*.ipynb"))

SVG, TEXT = "image/svg+xml", "text/plain"
MAX_NBYTES = 100_000  # of a stored notebook: a diff that a reviewer can still open

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def read(path: Path) -> Any:
    """Return a notebook as it is stored."""
    import nbformat  # late, as everything of Jupyter's: it takes more than a second

    return nbformat.read(path, as_version=4)


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run from top to bottom in a folder."""
    import nbclient

    notebook = read(path)
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'engine'}",
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    client = nbclient.NotebookClient(
        notebook,
        timeout=180,
        record_timing=False,
        coalesce_streams=True,  # how often a kernel sends what is printed: by chance
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment)
    return notebook


def outputs(notebook: Any) -> list[list[Any]]:
    """Return the outputs of each code cell."""
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def reduce(notebook: Any) -> None:
    """Keep of every output what a code host shows and is alike on every machine.

    That is a picture, or text where there is none; and both where a cell failed: the
    text says why. What goes to stderr names paths. What was raised comes first: a slow
    cell has shown its graph by then, a fast one has not.
    """
    for cell in outputs(notebook):
        failed = any(each.output_type == "error" for each in cell)
        cell[:] = [
            kept
            for each in cell
            if each.get("name") != "stderr"
            for kept in _reduced(each, failed)
        ]
        cell.sort(key=lambda each: each.output_type != "error")
    notebook.metadata.pop("widgets", None)
    notebook.metadata.pop("language_info", None)  # the version of whoever ran it


def _reduced(output: Any, failed: bool) -> list[Any]:
    from nbformat import from_dict

    if output.output_type == "error":
        output.traceback = [_last_line(output)]
    elif output.output_type == "stream":
        output.text = _ADDRESS.sub("", output.text)
    else:
        forms = [SVG] if SVG in output.data else [TEXT]
        if failed and forms == [SVG]:
            forms = [TEXT, SVG]  # of two forms of one output a host shows the picture
        told = {"metadata": {}}
        return [
            from_dict({**output, **told, "data": {form: output.data[form]}})
            for form in forms
        ]
    return [output]


def _last_line(error: Any) -> str:
    """Return what was raised: the frames name paths of the machine."""
    first = error.evalue.partition("\n")[0]
    return f"{error.ename}: {first}"


def main() -> int:
    """Run every notebook of the tour, and write it back with its outputs."""
    import nbformat

    for path in TOUR:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        reduce(notebook)
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
