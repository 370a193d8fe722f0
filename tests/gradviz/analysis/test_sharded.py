"""DDP and FSDP2 in processes of their own: recorded, watched, merged, undisturbed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import gradviz
from gradviz.flow.rank_text import verdict_text
from gradviz.flow.ranks import SPREAD
from tests import forked
from tests.depth import THOROUGH

PROGRAM = Path(__file__).with_name("sharded_program.py")
TEARDOWN = "terminate called without an active exception"
"""What a rank of plain PyTorch says, once in a while, after Python has ended."""

NAMES = [
    f"{layer}.{kind}"
    for layer in ("body.0", "body.2", "head")
    for kind in ("weight", "bias")
]


def launched(
    folder: Path, size: int, arguments: Sequence[object], tries: int = 3
) -> list[str]:
    """Run the program in processes as torchrun starts them; return their numbers."""
    folder.mkdir(exist_ok=True)
    (folder / "store").unlink(missing_ok=True)
    ranks = [
        forked.start(
            *arguments,
            cwd=folder,
            engine="torch",
            environment={"RANK": str(rank), "WORLD_SIZE": str(size)},
        )
        for rank in range(size)
    ]
    ended = [rank.wait() for rank in ranks]
    if any(TEARDOWN in each.stderr for each in ended) and tries > 1:
        return launched(folder, size, arguments, tries - 1)
    assert [each.returncode for each in ended] == [0] * size, ended
    return [(folder / f"numbers-{rank}.txt").read_text() for rank in range(size)]


# Of three ranks one is neither first nor last, rows do not divide, some hold none.
@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4] if THOROUGH else [3])
def test_ddp_and_fsdp2_are_recorded_and_watched_without_a_trace(
    tmp_path: Path, size: int
):
    pytest.importorskip("torch")
    plain = launched(tmp_path / "plain", size, [PROGRAM])
    both = ["-m", "gradviz", "run", "--json", "run.json", PROGRAM, "--watch"]
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
