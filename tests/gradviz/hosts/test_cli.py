"""The commands besides ``run``, and how the command line answers bad input."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradviz import cli, export, snapshots
from tests.gradviz import samples

pytestmark = pytest.mark.usefixtures("bundle")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return export.export_json(samples.cnn(), tmp_path / "cnn.gradviz.json")


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        ("html", "<!DOCTYPE html>"),
        ("svg", "<svg "),
        ("dot", "digraph"),
        ("json", '{"format"'),
        ("txt", "cnn, one step"),
        ("HTML", "<!DOCTYPE html>"),
    ],
)
def test_export_follows_the_suffix(recording: Path, capsys, suffix: str, start: str):
    out = recording.parent / f"out.{suffix}"
    assert cli.main(["export", str(recording), "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith(start)
    assert capsys.readouterr().out == f"{out}\n"


def test_a_format_counts_more_than_the_suffix(recording: Path):
    target = recording.with_name("picture.txt")
    arguments = ["export", str(recording), "-o", str(target), "--format", "SVG"]
    assert cli.main(arguments) == 0
    assert target.read_text(encoding="utf-8").startswith("<svg ")


def test_a_page_can_be_exported_again(recording: Path):
    page, back = recording.with_suffix(".html"), recording.with_suffix(".back.json")
    assert cli.main(["export", str(recording), "-o", str(page)]) == 0
    assert cli.main(["export", str(page), "-o", str(back)]) == 0
    assert back.read_bytes() == recording.read_bytes()


def test_show_prints_the_table(recording: Path, capsys):
    assert cli.main(["show", str(recording), "--no-open"]) == 0
    printed = capsys.readouterr().out
    assert "conv2d" in printed
    assert "\x1b" not in printed


def test_show_opens_the_page(recording: Path, monkeypatch, capsys):
    opened: list[Path] = []
    monkeypatch.setattr(
        "gradviz.showing.browser.open_page", lambda p: not opened.append(p)
    )
    assert cli.main(["show", str(recording)]) == 0
    assert snapshots.load(opened[0]) == samples.cnn()
    assert capsys.readouterr().out == f"{opened[0]}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "none.json", "-o", "x.svg"], "no such file"),
        (["export", "RECORDING", "-o", "x.gif"], "must end in one of .html, .svg"),
        (["export", "RECORDING", "-o", "x", "--format", "gif"], "gif is no format"),
        (["export", "RECORDING", "-o", "x"], "must end in one of .html, .svg"),
        (["export", "RECORDING", "-o", "/no/x.svg"], "no folder /no"),
        (["ledger", "RECORDING", "--limit", "x"], "x is not a whole number from 0 on"),
        (["diff", "RECORDING", "--factor", "1"], "1 is not a number above 1"),
        (["diff", "RECORDING", "--factor", "x"], "x is not a number above 1"),
        (["demo", "--open"], "--open"),
        (["export", "RECORDING"], "--output"),
        (["export"], "SNAPSHOT"),
        (["show", "none.json"], "no such file"),
        (["show", __file__], "not a gradviz snapshot"),
        (["show"], "FILE"),
        (["paint"], "'paint'"),
        ([], "COMMAND"),
    ],
)
def test_bad_input_is_one_sentence(
    recording: Path, capsys, arguments: list[str], words: str
):
    given = [str(recording) if word == "RECORDING" else word for word in arguments]
    try:
        status = cli.main(given)
    except SystemExit as error:
        status = error.code
    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert words in captured.err
    assert captured.err.startswith("gradviz")
    assert captured.err.count("\n") == 1


def help_of(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


COMMANDS = [
    "demo",
    "run",
    "fix",
    "export",
    "explain",
    "why",
    "show",
    "ledger",
    "diff",
    "merge",
    "mcp",
]


def test_help_teaches_with_examples(capsys):
    text = help_of(capsys)
    assert re.findall(r"^    (\w+) ", text, flags=re.MULTILINE) == COMMANDS
    for command in COMMANDS:
        assert f"  gradviz {command}" in text
    assert max(map(len, text.splitlines())) <= 88


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_says_what_it_does(command: str, capsys):
    usage, what, *_ = help_of(capsys, command).split("\n\n")
    assert usage.startswith(f"usage: gradviz {command}")
    assert what.endswith(".")


def test_version_names_the_schema(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert "snapshot schema 1.6" in capsys.readouterr().out


def test_the_module_is_the_command(recording: Path):
    done = subprocess.run(
        [sys.executable, "-m", "gradviz", "show", "--no-open", recording],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "conv2d" in done.stdout


def test_an_interrupted_command_ends_with_one_sentence(monkeypatch, capsys):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gradviz.snapshots.load", interrupt)
    assert cli.main(["show", "x.json"]) == 130
    assert capsys.readouterr().err == "gradviz: interrupted.\n"


def test_a_closed_pipe_is_not_our_error(recording: Path):
    command = f"{sys.executable} -m gradviz show --no-open {recording} | true"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
