"""What docs/ci.md shows works: its commands, its workflow, its hook, its tests."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import forked
from tests.docs.test_readme import blocks, commands

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")

TRAIN = """\
import sys
import gradtape as torch
from gradtape import nn

torch.manual_seed(0)
encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)
for step in range(int(sys.argv[sys.argv.index("--max-steps") + 1])):
    loss = ((head(torch.tanh(encoder(inputs))CUT) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NAN = TRAIN.replace("torch.tanh(encoder(inputs))CUT", "(encoder(inputs) * 0).sqrt()")
FINE, WRONG = TRAIN.replace("CUT", ""), TRAIN.replace("CUT", ".detach()")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def run(
    folder: Path, arguments: list[str], text: str
) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(text)
    environment = {"BROWSER": "true"}
    return forked.run("-m", "gradviz", *arguments, cwd=folder, environment=environment)


def examples() -> list[Any]:
    return [
        yaml.safe_load(each.text) for each in blocks(PAGE) if each.language == "yaml"
    ]


def workflow() -> dict[str, Any]:
    (found,) = [each for each in examples() if "jobs" in each]
    return found


def steps() -> list[dict[str, Any]]:
    return workflow()["jobs"]["gradients"]["steps"]


def test_the_commands_run_in_their_order_and_fail_where_they_are_to(folder: Path):
    shown = commands(PAGE, "gradviz")
    assert len(shown) == 5
    for text, failing in ((FINE, 0), (WRONG, 3)):
        for arguments in shown:
            strict = "warning" in arguments and "--baseline" not in arguments
            assert run(folder, arguments, text).returncode == failing * strict


def test_the_table_of_files_is_true(folder: Path):
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    table = [row for row in rows if row[0].startswith(("–", "`found"))]
    assert len(table) == 6
    begins = {"SARIF": '{\n "$schema"', "JSON": '{\n "schema"', "text": "Found 1 cause"}
    says = {"text": "gradviz: found 1 cause", "workflow": "\n::warning file=train.py"}
    for name, formats, in_file, on_stderr in table:
        for form in re.findall(r"–|`(\w+)`", formats):
            given = ["--format", form] if form else []
            if name != "–":
                given += ["--findings", name.strip("`")]
            done = run(
                folder,
                ["run", "--no-open", *given, "train.py", "--max-steps", "3"],
                WRONG,
            )
            assert done.returncode == 0
            if name != "–":
                text = (folder / name.strip("`")).read_text()
                assert text.startswith(begins[in_file.split()[0]])
            if (key := on_stderr.split()[0].rstrip(",")) in says:
                assert says[key] in f"\n{done.stderr}"
            page = folder / "train.html"
            assert page.exists() == ("a page" in on_stderr)
            page.unlink(missing_ok=True)


def test_the_workflow_uploads_what_it_has_written(folder: Path):
    assert workflow()["permissions"]["security-events"] == "write"
    (step,) = [each for each in steps() if "gradviz run" in each.get("run", "")]
    done = run(folder, shlex.split(step["run"])[1:], WRONG)
    assert done.returncode == 3
    assert "::warning file=train.py,line=10," in done.stderr
    (upload,) = [each for each in steps() if "upload-sarif" in each.get("uses", "")]
    assert steps().index(upload) > steps().index(step)
    assert "!cancelled()" in upload["if"]
    assert (folder / upload["with"]["sarif_file"]).exists()


def test_the_hook_does_what_the_page_says(folder: Path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["pass_filenames"] is False
    (example,) = [each for each in examples() if "repos" in each]
    (used,) = example["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    command = [*shlex.split(hook["entry"])[1:], *used["args"]]
    assert run(folder, command, FINE).returncode == 0
    assert run(folder, command, NAN).returncode == 3
    stricter = [*shlex.split(hook["entry"])[1:], "--fail-on", "warning", *used["args"]]
    assert run(folder, stricter, WRONG).returncode == 3
    assert sorted(each.name for each in folder.iterdir()) == [".git", "train.py"]


def test_the_tests_on_the_page_pass(folder: Path):
    (block,) = [each for each in blocks(PAGE) if each.language == "python"]
    name = block.text.split("\n")[0].removeprefix("# ")
    (folder / name).write_text(block.text)
    plugin = ("-p", "gradviz.testing.plugin", "-p", "no:cacheprovider")
    alone = {"CI": "", "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for options in commands(PAGE, "pytest"):
        done = forked.run(
            *("-m", "pytest", *plugin, *options, name),
            cwd=folder,
            engine="torch",
            environment=alone,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 passed" in done.stdout
    assert (folder / "model.gradviz.json").exists()


def test_exit_statuses_are_as_the_table_says(folder: Path):
    told = re.findall(r"^\| (\d)(?:, or another)? \| (.+) \|$", PAGE, re.MULTILINE)
    assert [int(status) for status, _ in told] == [0, 3, 1, 2]
    failing = [
        "run",
        "--no-open",
        "--fail-on",
        "warning",
        "train.py",
        "--max-steps",
        "3",
    ]
    assert run(folder, failing, FINE).returncode == 0
    assert run(folder, failing, WRONG).returncode == 3
    assert run(folder, failing, WRONG + "raise ValueError\n").returncode == 1
    assert (
        run(folder, ["run", "--fail-on", "nothing", "train.py"], FINE).returncode == 2
    )
