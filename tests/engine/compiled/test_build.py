"""With a compiler the engine is built, and records and computes the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiling import build

pytestmark = pytest.mark.slow

PROGRAM = """
import traceback
import gradtape as torch
from gradtape._common.compiled import is_any

def shown(node, depth=0):
    if node is not None:
        print(" " * depth, node.name(), node.site, node.site and node.site.column)
        for following, number in node.next_functions:
            shown(following, depth + 1)

torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
w = torch.nn.Parameter(torch.randn(4, 8))
first, second = torch.sigmoid(x @ w).chunk(2, 1)
loss = (
    torch.add(first * second, second, alpha=2)
    .relu()
    .sum()
)
shown(loss.grad_fn)
loss.backward()
print(x.grad, w.grad)
y = x.exp()
y.add_(1)
for call in (lambda: x * torch.ones(5), lambda: y.sum().backward()):
    try:
        call()
    except RuntimeError as error:
        print(error, *getattr(error, "__notes__", ()))
        frames = traceback.extract_tb(error.__traceback__)
        assert all(frame.line for frame in frames), frames

class Twice(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("asked about", func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})

print(type(Twice([1.0]) * 2).__name__)
print("compiled" if is_any() else "plain", "compiled" in torch.__config__.show())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, compiled."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    if not build.is_wanted():
        pytest.skip("there is no compiler")
    made = tmp_path_factory.mktemp("compiled")
    ignored = shutil.ignore_patterns("__pycache__", "_compiled.*")
    shutil.copytree(build.ENGINE / "gradtape", made / "gradtape", ignore=ignored)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-O0")  # a third of the time
        assert build.build(made / "gradtape", made / "gradtape") is not None
    return made


def _printed(folder: Path, **environment: str) -> list[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    kept = {n: v for n, v in os.environ.items() if n != "GRADTAPE_PURE"}
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_compiled_engine_records_and_computes_the_same(folder: Path) -> None:
    *compiled, form = _printed(folder)
    *plain, other = _printed(folder, GRADTAPE_PURE="1")
    assert compiled == plain
    assert (form, other) == ("compiled True", "plain False")


def test_a_function_that_changed_since_runs_as_python(folder: Path) -> None:
    file = folder / "gradtape" / "_tensor" / "tensor.py"
    before = file.read_text(encoding="utf-8")
    file.write_text(f"\n{before}", encoding="utf-8")  # it moved, and that is enough
    code = "from gradtape._tensor import tensor as t; print(type(t.edge_of).__name__)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        file.write_text(before, encoding="utf-8")
    assert done.stdout == "function\n"


def _noisy(*given: object) -> None:
    print("noise")
    os.write(2, b"noise of a process")
    raise OSError("it does not work")


def test_without_a_compiler_nothing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GRADTAPE_VERBOSE", raising=False)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert not build.is_wanted()
    assert build.build(tmp_path) is None
    monkeypatch.setattr(build, "is_wanted", lambda: True)
    monkeypatch.setattr(build, "_compile", _noisy)
    assert build.build(tmp_path) is None
    assert capfd.readouterr() == ("", "")
