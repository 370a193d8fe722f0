"""The debugger where nothing but PyTorch is installed beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packaging.process import finished, run

pytestmark = pytest.mark.slow

ABSENT = "gradtape", "scipy", "tqdm", "IPython", "anywidget", "plotly", "graphviz"
ON_GRADTAPE = (
    "gradtape is not installed here; `pip install 'autogradviz[gradtape]'` brings it.\n"
)

QUIET = """\
import torch
from torch import nn

encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)

for step in range(3):
    features = torch.tanh(encoder(inputs)).detach()
    loss = ((head(features) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

# What the package offers, once each; what is asserted comes from what it answers.
EVERYTHING = """\
import gradviz, sys, torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
inputs, targets = torch.randn(16, 4), torch.randn(16, 1)

def loss_of(outputs):
    return ((outputs - targets) ** 2).mean()

with gradviz.record(title="one step") as recorder:
    loss = loss_of(model(inputs))
    loss.backward(retain_graph=True)
assert not recorder.diagnose()
assert not gradviz.diagnose(loss)

snapshot = recorder.snapshot()
assert {node.call for node in snapshot.nodes} >= {"linear", "relu", "mean"}
assert "mountPage" in gradviz.export_html(snapshot, "graph.html").read_text()
gradviz.export_svg(snapshot, "graph.svg")
gradviz.export_dot(snapshot, "graph.dot")
gradviz.export_json(snapshot, "graph.gradviz.json")
assert gradviz.load("graph.gradviz.json") == snapshot
assert not gradviz.diff(snapshot, gradviz.load("graph.html"))
assert gradviz.ledger(snapshot).saved
assert "has a gradient" in str(recorder.why("0.weight"))
assert "teaches 4 of 4 parameters" in str(gradviz.why(loss))

outputs = model(inputs)
penalty = 0.1 * (outputs**2).mean()
whole = loss_of(outputs) + penalty
assert "0.weight" in str(gradviz.what_if(whole).without(penalty))
assert gradviz.capture(whole).producer.startswith("PyTorch")
gradviz.show(whole)

walk = gradviz.step(loss_of(model(inputs)))
walk.break_when(node="Relu*")
assert "ReluBackward0" in str(walk.resume())
walk.abort()

point = torch.randn(3, dtype=torch.float64, requires_grad=True)
assert gradviz.check_derivative(torch.tanh, point)

optimizer = torch.optim.Adam(model.parameters())
with gradviz.watch(model, page="watched.html") as watched:
    for _ in range(20):
        optimizer.zero_grad()
        loss_of(model(inputs)).backward()
        optimizer.step()
assert "4 parameters" in str(watched)

for call in (watched.plot, lambda: gradviz.export_png(snapshot, "graph.png")):
    try:
        call()
    except gradviz.GradvizError as error:
        print(error)
assert not any(name in sys.modules for name in ABSENT)
"""


@pytest.fixture(scope="module")
def folder(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a program with one fault was run, and its page written."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "quiet.py").write_text(QUIET)
    (folder / "tape.py").write_text("import gradtape\n")
    (folder / "hello.py").write_text("print('hello')\n")
    ran = finished(gradviz(plain), "run", "--no-open", "quiet.py", cwd=folder)
    assert "warning GV306 detach-in-forward\n  quiet.py:9\n" in ran.stderr
    return folder


def gradviz(python: Path) -> Path:
    """The command of an environment."""
    return python.with_name("gradviz")


def test_nothing_else_is_there(plain: Path, tmp_path: Path):
    code = f"from importlib.util import find_spec; print([*map(find_spec, {ABSENT})])"
    assert run(plain, "-c", code, cwd=tmp_path) == f"{[None] * len(ABSENT)}\n"


def test_all_that_the_package_offers_works_on_pytorch(plain: Path, tmp_path: Path):
    (tmp_path / "all.py").write_text(f"ABSENT = {ABSENT}\n{EVERYTHING}")
    told = run(plain, "-W", "error", "all.py", cwd=tmp_path)
    assert "`pip install plotly` installs it" in told
    assert "(`pip install graphviz`)" in told


def test_help_names_what_there_is(plain: Path, tmp_path: Path):
    told = run(plain, "-W", "error", "-c", "help('gradviz')", cwd=tmp_path)
    assert "record(" in told
    listed = run(gradviz(plain), "--help", cwd=tmp_path)
    for command in ("demo", "run", "export"):
        assert command in listed


def test_the_version_is_that_of_the_distribution(plain: Path, tmp_path: Path):
    told = run(gradviz(plain), "--version", cwd=tmp_path)
    assert re.match(r"gradviz \d+\.\d+\.\d+, snapshot schema", told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("why quiet.html encoder.weight", "<- decision (quiet.py:9)"),
        ("ledger quiet.html", "Saved tensors: "),
        ("diff quiet.html quiet.html", "0 added, 0 removed, 0 changed"),
        ("export quiet.html -o quiet.svg", "quiet.svg"),
        ("show --no-open quiet.html", "GV306 detach-in-forward"),
        ("explain GV306", "GV306 detach-in-forward (warning)"),
        ("run --no-open hello.py", "hello"),
    ],
)
def test_a_command_answers(plain: Path, folder: Path, arguments: str, told: str):
    assert told in run(gradviz(plain), *arguments.split(), cwd=folder)


@pytest.mark.parametrize(
    "arguments",
    [
        "run tape.py",
        "run --step tape.py",
        "run --engine gradtape quiet.py",
        "fix tape.py",
    ],
)
def test_what_needs_gradtape_says_so(plain: Path, folder: Path, arguments: str):
    done = finished(gradviz(plain), *arguments.split(), cwd=folder)
    command = arguments.split()[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"gradviz {command}: {ON_GRADTAPE}")


def test_the_demo_runs_on_pytorch(plain: Path, tmp_path: Path):
    done = finished(gradviz(plain), "demo", "--no-open", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "gradviz-demo.html").exists()


def test_a_block_that_names_no_engine_records_pytorch(plain: Path, tmp_path: Path):
    code = """
import gradviz
with gradviz.record() as recorder:
    import torch
    (torch.ones(2, requires_grad=True) ** 2).sum().backward()
print(recorder)
"""
    told = run(plain, "-c", code, cwd=tmp_path)
    assert told == "<recorder of torch: 1 backward pass, no findings>\n"


def test_with_gradtape_the_demo_trains_and_writes_its_page(demo: Path, tmp_path: Path):
    told = run(gradviz(demo), "demo", "--no-open", cwd=tmp_path)
    assert "held-out digits are right" in told
    assert "mountPage" in (tmp_path / "gradviz-demo.html").read_text(encoding="utf-8")


def test_without_pytorch_a_script_that_wants_it_is_told(demo: Path, tmp_path: Path):
    (tmp_path / "quiet.py").write_text(QUIET)
    done = finished(gradviz(demo), "run", "--no-open", "quiet.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("gradviz run: PyTorch is not installed here.")


def test_the_lab_extension_is_where_jupyterlab_looks(demo: Path):
    share = demo.parents[1] / "share" / "jupyter" / "labextensions" / "gradviz"
    assert (share / "package.json").is_file()
    assert list(share.glob("static/*.js"))
