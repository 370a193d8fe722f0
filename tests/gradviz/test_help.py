"""``help(gradviz)``, ``dir`` and ``inspect`` in an install without any extra."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import gradviz

PLAIN = """\
import sys
for extra in ("IPython", "anywidget", "cupy", "numba", "plotly", "torch", "traitlets"):
    sys.modules[extra] = None
import importlib, inspect, pydoc
package = importlib.import_module(sys.argv[1])
inspect.getmembers(package)
print(pydoc.render_doc(package, renderer=pydoc.plaintext))
"""


def help_in_a_plain_install(package: str) -> str:
    command = [sys.executable, "-c", PLAIN, package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_needs_no_extra():
    text = help_in_a_plain_install("gradviz")
    assert text.startswith(
        "Python Library Documentation: package gradviz\n\nNAME\n"
        "    gradviz - A debugger for the autograd graphs of PyTorch, and of gradtape"
    )
    for way in ("gradviz.record()", "gradviz.show(loss)", "%%gradviz", "gradviz run"):
        assert way in text


def test_help_shows_what_is_public_and_nothing_else():
    text = help_in_a_plain_install("gradviz")
    functions = text.partition("\nFUNCTIONS\n")[2].partition("\nDATA\n")[0]
    shown = re.findall(r"^    (?!__)(\w+)\(", functions, flags=re.MULTILINE)
    classes = re.findall(r"^    class (\w+)\(", text, flags=re.MULTILINE)
    packages = ["integrations", "plot"]  # which help() lists elsewhere
    assert sorted([*shown, *classes, *packages]) == gradviz.__all__


def test_help_on_the_engine_needs_no_extra():
    assert "gradtape - gradtape: PyTorch's tensors" in help_in_a_plain_install(
        "gradtape"
    )


def test_all_public_names_are_listed():
    assert gradviz.__all__ == sorted(gradviz.__all__)
    assert set(gradviz.__all__) <= set(dir(gradviz))
    extension = {"load_ipython_extension", "unload_ipython_extension"}
    lazy = {name for name in gradviz._HOMES if name not in extension}
    assert lazy < set(gradviz.__all__)


@pytest.mark.parametrize("name", gradviz.__all__)
def test_every_public_name_is_documented(name: str):
    assert getattr(gradviz, name).__doc__
