"""PyTorch's tensors among ours: one sentence, or memory handed over; never a loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradtape as gt
from tests import forked

torch = pytest.importorskip("torch")

REFUSED: dict[str, Callable[[], Any]] = {
    "function": lambda: gt.add(gt.ones(1), torch.ones(1)),
    "method": lambda: gt.ones(2).mul(torch.ones(2)),
    "operator": lambda: gt.ones(1) + torch.ones(1),
    "operator of PyTorch": lambda: torch.ones(1) + gt.ones(1),
    "function of PyTorch": lambda: torch.relu(gt.ones(1)),
    "nn": lambda: gt.nn.functional.linear(torch.ones(1, 2), gt.ones(3, 2)),
    "nn of PyTorch": lambda: torch.nn.functional.softmax(gt.ones(2), 0),
    "list": lambda: gt.cat([torch.ones(1), gt.ones(1)]),
    "item": lambda: gt.ones(2).__setitem__(0, torch.ones(1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tensors_of_two_engines_do_not_mix(name: str) -> None:
    with pytest.raises(TypeError):
        REFUSED[name]()


def test_the_error_tells_the_types_apart() -> None:
    with pytest.raises(TypeError, match=r"must be Tensor, not torch\.Tensor"):
        REFUSED["function"]()
    with pytest.raises(
        TypeError, match=r"must be Tensor, not torch\.nn\.parameter\.Parameter"
    ):
        gt.relu(torch.nn.Parameter(torch.ones(1)))


def test_the_same_once_functions_ask_who_answers(tmp_path: Path) -> None:
    program = """
import gradtape as gt, torch
class Own(gt.Tensor):
    @classmethod
    def __torch_function__(cls, *call):
        return super().__torch_function__(*call)
assert gt.from_dlpack(torch.ones(2)).tolist() == [1.0, 1.0]
for mix in (gt.add, gt.nn.functional.mse_loss, torch.add):
    try:
        mix(gt.ones(1), torch.ones(1))
    except TypeError:
        print("refused")
"""
    ended = forked.run("-c", program, cwd=tmp_path, engine="torch")
    assert (ended.stdout, ended.returncode) == ("refused\n" * 3, 0), ended.stderr
