"""DDP and FSDP2 in processes of their own: recorded, watched, merged, undisturbed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import gradviz
from gradviz.flow.rank_text import verdict_text
from gradviz.flow.ranks import SPREAD
from tools.imports import ROOT

PROGRAM = Path(__file__).with_name("sharded_program.py")
LIMIT_S = 180
TEARDOWN = "terminate called without an active exception"
"""What a rank of plain PyTorch says, once in a while, after Python has ended."""

NAMES = [
    f"{layer}.{kind}"
    for layer in ("body.0", "body.2", "head")
    for kind in ("weight", "bias")
]


def launched(
    folder: Path, size: int, arguments: Sequence[str], tries: int = 3
) -> list[str]:
    """Run the program under torchrun; return the numbers that it came to."""
    folder.mkdir(exist_ok=True)
    path = f"{ROOT}{os.pathsep}{ROOT / 'engine'}"
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*run, "--nproc-per-node", str(size), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if TEARDOWN in done.stderr and tries > 1:
        return launched(folder, size, arguments, tries - 1)
    assert done.returncode == 0, done.stderr
    files = sorted(folder.glob("numbers-*.txt"))
    assert len(files) == size
    return [file.read_text(encoding="utf-8") for file in files]


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_ddp_and_fsdp2_are_recorded_and_watched_without_a_trace(
    tmp_path: Path, size: int
):
    pytest.importorskip("torch")
    plain = launched(tmp_path / "plain", size, [str(PROGRAM)])
    both = ["-m", "gradviz", "run", "--json", "run.json", str(PROGRAM), "--watch"]
    assert launched(tmp_path / "seen", size, both) == plain, "bit-equal"

    recorded = gradviz.merge((tmp_path / "seen").glob("run-rank*.json"))
    assert [(f.code, f.message) for f in recorded.findings] == []
    assert [process.size for process in recorded.processes] == [size] * size
    assert {layer.name.removeprefix("module.") for layer in recorded.flow_layers} == {
        *NAMES
    }

    averaged = gradviz.merge((tmp_path / "seen").glob("ddp-rank*.json"))
    assert [f.code for f in averaged.findings if f.severity != "info"] == []
    spread = gradviz.merge((tmp_path / "seen").glob("fsdp-rank*.json"))
    assert [(f.code, f.message) for f in spread.findings] == []
    assert SPREAD in spread.notes
    assert verdict_text(spread) == f"The {size} ranks agree: 3 steps, 6 parameters."
    assert [layer.name for layer in spread.flow_layers] == NAMES
