"""``gradviz fix``: shows, tries and writes; files change only where they may."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from gradviz import cli

CUT = """\
import gradtape as torch
from gradtape import nn

torch.manual_seed(0)
encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)
for step in range(3):
    features = torch.tanh(encoder(inputs)).detach()  # früher
    loss = ((head(features) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

UNCLEARED = CUT.replace(".detach()", "").replace("    optimizer.zero_grad()\n", "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def fix(*arguments: object) -> int:
    return cli.main(["fix", *map(str, arguments)])


def write(text: str, *, newline: str = "\n") -> Path:
    path = Path("train.py")
    path.write_bytes(text.replace("\n", newline).encode())
    return path


@pytest.mark.usefixtures("here")
def test_changes_are_shown_and_nothing_is_written(capsys) -> None:
    path = write(CUT)
    assert fix(path) == 1
    said = capsys.readouterr().err
    assert "GV306 detach-in-forward  train.py:9  (unsafe)" in said
    assert "\n-    features = torch.tanh(encoder(inputs)).detach()  # früher\n" in said
    assert "\n+    features = torch.tanh(encoder(inputs))  # früher\n" in said
    assert path.read_text() == CUT


@pytest.mark.usefixtures("here")
def test_a_line_that_only_cuts_goes_as_a_whole(capsys) -> None:
    cut = "    features = features.detach()\n"
    write(CUT.replace(".detach()  # früher\n", "\n" + cut))
    assert fix("train.py") == 1
    said = capsys.readouterr().err
    assert "\n-" + cut in said
    assert "\n+    " not in said


@pytest.mark.usefixtures("here")
def test_safe_changes_are_written_with_mode_and_line_ends(capsys) -> None:
    path = write(UNCLEARED, newline="\r\n")
    path.chmod(0o744)
    assert fix("--write", path) == 0
    assert "wrote 1 change to train.py" in capsys.readouterr().err
    added = "    optimizer.zero_grad()\n    loss.backward()\n"
    expected = UNCLEARED.replace("    loss.backward()\n", added)
    assert path.read_bytes().decode() == expected.replace("\n", "\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o744


@pytest.mark.usefixtures("here")
def test_unsafe_changes_are_written_only_on_demand(capsys) -> None:
    path = write(CUT)
    assert fix("--write", path) == 1
    assert path.read_text() == CUT
    assert fix("--write", "--unsafe", path) == 0
    assert path.read_text() == CUT.replace(".detach()", "")
    assert fix(path) == 0
    assert "no findings" in capsys.readouterr().err


TOUCHING = """\
from pathlib import Path
import json
import os
Path("log.txt").write_text(Path("log.txt").read_text() + "x")
try:
    Path(__file__).with_name("beside.txt").write_text("x")
    Path(os.environ["PRECIOUS"]).write_text("x")
except PermissionError as error:
    print("refused", error)
"""


def test_a_trial_tells_what_changed_and_touches_nothing(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    path = write(CUT + TOUCHING)
    precious = tmp_path / "precious.txt"
    for file in (precious, here / "log.txt", here / "beside.txt"):
        file.write_text("")
    monkeypatch.setenv("PRECIOUS", str(precious))
    assert fix("--try", path) == 0
    said = capsys.readouterr().err
    assert "tried: GV306 is gone." in said
    assert "The gradient reaches 4 of 4 parameters (before: 2)." in said
    assert "The loss falls from" in said
    assert "Nothing new is found." in said
    # Written once, by the run that was recorded, and not by the trial.
    assert (here / "log.txt").read_text() == "x"
    assert precious.read_text() == "x"
    assert sorted(os.listdir(here)) == ["beside.txt", "log.txt", "train.py"]
    assert path.read_text() == CUT + TOUCHING


@pytest.mark.usefixtures("here")
def test_what_was_tried_with_success_is_written(capsys) -> None:
    path = write(CUT)
    assert fix("--try", "--write", path) == 0
    assert path.read_text() == CUT.replace(".detach()", "")
    assert "wrote 1 change" in capsys.readouterr().err


def test_an_imported_module_is_tried_and_changed(here: Path, capsys) -> None:
    head, _, loop = CUT.partition("for step")
    body = f"for step{loop}".replace("\n", "\n    ").rstrip()
    (here / "model.py").write_text(f"{head}\ndef train():\n    {body}\n")
    path = write("import gradtape\nimport model\n\nmodel.train()\n")
    monkey = (here / "model.py").read_text()
    import sys

    try:
        assert fix("--try", "--write", path) == 0
    finally:
        sys.modules.pop("model", None)
    assert (here / "model.py").read_text() == monkey.replace(".detach()", "")
    assert "model.py" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_file_that_changed_since_it_ran_is_refused(capsys) -> None:
    changing = 'with open(__file__, "a") as file:\n    file.write("# more\\n")\n'
    path = write(UNCLEARED + changing)
    assert fix("--write", path) == 2
    assert "gradviz fix: train.py has changed since it ran" in capsys.readouterr().err
    assert path.read_text() == UNCLEARED + changing + "# more\n"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a script"),
        (["-"], "no file to change"),
        (["--unsafe", "train.py"], "give both"),
        (["nowhere.py"], "cannot be read"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys, arguments: list[str], sentence: str
) -> None:
    assert fix(*arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("here")
def test_changes_are_written_as_data_for_other_programs() -> None:
    path = write(CUT)
    assert fix("--json", "out.json", path) == 1
    data = json.loads(Path("out.json").read_text())
    assert data["verdict"].startswith("found 1 cause in 3 backward passes")
    (change,) = data["changes"]
    assert (change["code"], change["line"], change["safe"]) == (
        "GV306",
        "train.py:9",
        False,
    )
    assert (change["helped"], change["tried"]) == (None, [])
    assert "\n+    features = torch.tanh(encoder(inputs))  # früher\n" in change["diff"]
    assert fix("--try", "--json", "out.json", path) == 0
    (change,) = json.loads(Path("out.json").read_text())["changes"]
    assert change["helped"] is True
    assert change["tried"][0] == "tried: GV306 is gone."
