"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools import imports

FILES = imports.modules()
WITH_EXAMPLES = sorted(
    name for name, file in FILES.items() if ">>> " in file.read_text(encoding="utf-8")
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Finder(doctest.DocTestFinder):
    """Finds what a file defines, also where it takes the name of a public module."""

    def _from_module(self, module: ModuleType, object: Any) -> bool:  # noqa: A002
        codes = [getattr(member, "__code__", None) for member in _members(object)]
        if any(code and code.co_filename == module.__file__ for code in codes):
            return True
        return super()._from_module(module, object)  # type: ignore[misc]


def _members(object: Any) -> list[Any]:  # noqa: A002
    return list(vars(object).values()) if inspect.isclass(object) else []


def failures(name: str) -> str:
    """Run the examples of a module; return what went wrong, as doctest tells it."""
    module = importlib.import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    found = [test for test in Finder().find(module) if test.examples]
    for test in found:
        runner.run(test, out=report.append)
    assert found, f"{name} has examples, but in no docstring that doctest finds"
    return "".join(report)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if ">>> import torch" in FILES[name].read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)  # examples write their files here
    monkeypatch.delenv("CI", raising=False)  # as at a desk, where readers try them
    assert failures(name) == ""


def test_a_wrong_example_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "sample_with_a_lie.py").write_text('"""\n>>> 1 + 1\n3\n"""\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert "Expected:\n    3\nGot:\n    2" in failures("sample_with_a_lie")
