"""``gradviz run`` in a process of its own: seen from outside it is ``python``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.gradviz.running.odd_scripts import SCRIPTS
from tests.gradviz.running.processes import ENGINE, Run, python, seen, without_ours


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_as_under_python(tmp_path: Path, gradviz: Run, name: str) -> None:
    json = "--json", str(tmp_path / "x.json")
    plain = seen(tmp_path, SCRIPTS[name], python, "s.py")
    ours = seen(tmp_path, SCRIPTS[name], gradviz, "run", *ENGINE, *json, "s.py")
    ours = replace(ours, err=without_ours(ours.err))
    if "Terminated: SIG" in ours.err:  # where it was told to end: our words
        ours = replace(ours, err="")
    assert ours == plain


@pytest.mark.parametrize("command", [("-m", "s"), ("-",)])
def test_a_module_and_stdin_have_the_names_of_python(
    tmp_path: Path, gradviz: Run, command: tuple[str, ...]
) -> None:
    (source := tmp_path / "stdin.py").write_text("print(*globals())\nprint(__file__)\n")
    text = SCRIPTS["names of main"]
    json = "--json", str(tmp_path / "x.json")
    given = {"stdin": str(source)}
    plain = seen(tmp_path, text, python, *command, **given)
    ours = seen(tmp_path, text, gradviz, "run", *ENGINE, *json, *command, **given)
    assert replace(ours, err=without_ours(ours.err)) == plain
