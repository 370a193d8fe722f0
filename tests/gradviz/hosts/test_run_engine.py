"""``gradviz run --engine gradtape``: the script's torch is gradtape, everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz import cli

pytestmark = pytest.mark.usefixtures("bundle", "recorders")

Script = Callable[[str], Path]


def run(path: Path) -> int:
    return cli.main(["run", str(path), "--engine", "gradtape", "--json", "x.json"])


def test_with_the_engine_gradtape_torch_is_gradtape(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        print(torch.__name__, nn.__name__, F is nn.functional)
        """
    )
    before = {name: m for name, m in sys.modules.items() if name.startswith("torch")}
    assert run(path) == 0
    assert capsys.readouterr().out == "torch gradtape.nn True\n"
    after = {name: m for name, m in sys.modules.items() if name.startswith("torch")}
    assert after == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("torch.onnx.no_such_thing", True),
        ("import torch.no_such_module", True),
        ("from torch.onnx import no_such_thing", True),
        ("torch.zeros(2).no_such_method()", True),
        ("object().no_such_thing", False),
        ("import no_such_module", False),
        ("torch.zeros(2) + torch.zeros(3)", False),
    ],
)
def test_a_name_that_only_pytorch_has_is_told_apart(
    script: Script, capsys: pytest.CaptureFixture[str], text: str, told: bool
) -> None:
    assert run(script(f"import torch\n{text}")) == 1
    assert ("`--engine torch` runs" in capsys.readouterr().err) is told


def test_processes_of_the_script_have_its_torch(script: Script) -> None:
    path = script(
        """
        import torch
        from torch.utils.data import DataLoader
        class Names:
            def __len__(self):
                return 2
            def __getitem__(self, key):
                return torch.__package__, torch.tensor(key)
        if __name__ == "__main__":
            for context in ("spawn", "forkserver"):
                loader = DataLoader(
                    Names(), 2, num_workers=1, multiprocessing_context=context
                )
                print(list(loader))
        """
    )
    command = [sys.executable, "-m", "gradviz", "run", "--engine", "gradtape"]
    done = subprocess.run(
        [*command, "--json", "x.json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    line = "[[('gradtape', 'gradtape'), tensor([0, 1])]]"
    assert done.stdout.splitlines() == [line, line], done.stderr


def test_files_of_safetensors_hold_the_tensors_of_the_engine(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("safetensors")
    path = script(
        """
        import torch
        from safetensors.torch import load_file, save_file
        save_file({"weight": torch.arange(3.0)}, "x.safetensors")
        print(load_file("x.safetensors"), load_file.__module__)
        """
    )
    assert run(path) == 0
    assert capsys.readouterr().out == (
        "{'weight': tensor([0., 1., 2.])} gradtape.safetensors\n"
    )


def test_frames_of_the_engine_are_left_out(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(
        """
        import torch
        def step():
            torch.tensor([1.0, 2.0]).backward()
        step()
        """
    )
    assert run(path) == 1
    trace = capsys.readouterr().err
    frames = re.findall(r'File "(.*)", line \d+, in (.*)', trace)
    file = str(path.resolve())
    assert frames == [(file, "<module>"), (file, "step")]
    assert "RuntimeError: element 0 of tensors does not require grad" in trace


def test_code_that_the_engine_makes_is_left_out_of_tracebacks(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(
        """
        import torch
        torch.ones(8).view(5, 5)
        """
    )
    assert run(path) == 1
    trace = capsys.readouterr().err
    assert re.findall(r'File "(.*)", line', trace) == [str(path.resolve())]
    assert "shape '[5, 5]' is invalid for input of size 8" in trace
