"""Who may import which framework, read from the sources and from a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import imports
from tools.imports import HEAVY, Import, all_imports, imports_of


def belongs(module: str, *packages: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in packages)


def running() -> list[Import]:
    return [found for found in all_imports() if not found.typing]


def broken(importers: tuple[str, ...], targets: tuple[str, ...]) -> list[str]:
    """List the imports, at any depth and for types too, from the one to the other."""
    return [
        str(found)
        for found in all_imports()
        if belongs(found.module, *importers) and found.reaches(*targets)
    ]


def test_both_packages_were_found():
    assert {"gradtape", "gradviz", "gradviz.ir"} <= imports.modules().keys()
    assert len(running()) > 50


def test_the_engine_never_imports_the_debugger_or_another_framework():
    assert broken(("gradtape",), ("gradviz", "torch", "IPython", "anywidget")) == []


PURE = ["diagnosis", "flow", "plot", "program", "render"]


@pytest.mark.parametrize("room", PURE)
def test_pure_rooms_know_no_framework(room: str):
    assert f"gradviz.{room}" in imports.modules()
    assert broken((f"gradviz.{room}",), ("gradtape", "torch", "cupy")) == []


@pytest.mark.parametrize("room", PURE)
def test_rooms_that_only_read_know_no_capture(room: str):
    assert broken((f"gradviz.{room}",), ("gradviz._capture",)) == []


def test_captures_of_one_engine_do_not_know_the_other():
    capture = "gradviz._capture"
    assert broken((f"{capture}.adapters.gradtape",), ("torch",)) == []
    assert (
        broken(
            (f"{capture}.adapters.pytorch",),
            ("gradtape", f"{capture}.adapters.gradtape"),
        )
        == []
    )
    engines = (
        "gradtape",
        "torch",
        f"{capture}.adapters.gradtape",
        f"{capture}.adapters.pytorch",
    )
    assert broken((f"{capture}.training_loop",), engines) == []
    own = [found for found in all_imports() if found.module.startswith(capture)]
    assert any(found.reaches("torch") for found in own)
    assert all(
        belongs(
            found.module, f"{capture}.adapters.gradtape", f"{capture}.adapters.pytorch"
        )
        for found in own
        if found.reaches("gradtape", "torch")
    )


def test_the_schema_imports_only_the_standard_library():
    outside = [
        str(found)
        for found in all_imports()
        if found.module == "gradviz.ir"
        and found.target.split(".")[0] not in sys.stdlib_module_names
    ]
    assert outside == []


def test_only_the_demo_and_capture_and_the_command_line_know_the_engine():
    allowed = ("gradviz._capture", "gradviz.demo", "gradviz.cli")
    others = [
        str(found)
        for found in all_imports()
        if belongs(found.module, "gradviz")
        and not belongs(found.module, *allowed)
        and found.reaches("gradtape")
    ]
    assert others == []


def test_nothing_heavy_is_imported_at_module_level():
    # A module that only exists for one framework may import it: it is asked for late.
    own = {
        "gradtape._backend._cupy": ("cupy",),
        "gradtape._backend.compiled._jit": ("numba",),
        "gradviz.demo.engine": ("torch",),
        "gradviz.notebook.magic": ("IPython",),
        "gradviz.notebook.questions": ("IPython",),
        "gradviz.widget": ("anywidget", "ipywidgets"),
    }
    early = [
        str(found)
        for found in running()
        if not found.late
        and found.reaches(*HEAVY)
        and not found.reaches(*own.get(found.module, ()))
    ]
    assert early == []


# What is imported only once its package is known to be there.
ASKED_FOR_LATE = (
    *("gradviz._capture.adapters.gradtape", "gradviz.demo.engine"),
    *("gradviz.notebook.magic", "gradviz.notebook.questions", "gradviz.widget"),
    *("gradviz.mcp", "gradviz.testing"),
)


def test_the_debugger_alone_needs_numpy():
    needed = {
        found.target.partition(".")[0]
        for found in running()
        if belongs(found.module, "gradviz")
        and not found.late
        and not belongs(found.module, *ASKED_FOR_LATE)
    }
    assert needed - sys.stdlib_module_names == {"gradviz", "numpy"}


@pytest.mark.parametrize("package", sorted(imports.PACKAGES))
def test_importing_a_package_loads_nothing_heavy(package: str, tmp_path: Path):
    code = (
        f"import sys, {package}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert _output(code, tmp_path) == "[]"


def test_recording_pytorch_does_not_load_gradtape(tmp_path: Path):
    pytest.importorskip("torch")
    code = """
import sys, gradviz, torch
x = torch.ones(3, requires_grad=True)
with gradviz.record() as recorder:
    (x * 2).sum().backward()
recorder.diagnose()
recorder.snapshot()
gradviz.capture((x * 2).sum())
print("gradtape" in sys.modules)
"""
    assert _output(code, tmp_path) == "False"


def _output(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": f"{imports.ROOT}:{imports.ROOT / 'engine'}"},
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


# ---- the reader of imports is itself checked ----

SAMPLE = """
import os.path
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from torch import Tensor
else:
    import plotly
from . import sibling
from ..render.text import to_text
class Record:
    import anywidget
    def method(self):
        import cupy
try:
    import torch.nn
except ImportError:
    pass
"""


def test_the_reader_sees_every_form_of_import():
    found = {
        item.target: (item.line, item.late, item.typing)
        for item in imports.imports_of("gradviz._capture.x", SAMPLE, is_package=False)
    }
    assert found == {
        "os.path": (2, False, False),
        "typing.TYPE_CHECKING": (3, False, False),
        "torch.Tensor": (5, False, True),
        "plotly": (7, False, False),
        "gradviz._capture.sibling": (8, False, False),
        "gradviz.render.text.to_text": (9, False, False),
        "anywidget": (11, False, False),
        "cupy": (13, True, False),
        "torch.nn": (15, False, False),
    }


def test_the_reader_resolves_dots_from_a_package():
    (found,) = imports_of("gradviz.render", "from .. import ir", is_package=True)
    assert found.target == "gradviz.ir"
    (found,) = imports_of("gradviz.render", "from .a import b", is_package=True)
    assert found.target == "gradviz.render.a.b"
