"""What a log makes of calls that PyTorch's compilers run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz._capture.session import Session
from gradviz.diagnosis.diagnose import Diagnosis

X = torch.linspace(-1, 1, 12).reshape(3, 4)
DEPRECATED = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
HIDDEN = "What happens inside `{}` was not seen: {}."
eval_frame: Any = torch._dynamo.eval_frame
explain: Any = torch._dynamo.explain


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()


def logarithm(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x - 5)


def recorded(run: Callable[[], Any], **options: Any) -> tuple[Session, Diagnosis]:
    with gradviz.record(engine="torch", **options) as recorder:
        run()
    return recorder, recorder.diagnose()


def culprit(found: Diagnosis) -> str:
    row = found.findings[0].culprit
    return "" if row is None else found.sites[row].text.strip()


def cut(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    hidden = (x * weight).detach()
    return hidden.sin() + weight


def train(step: Any) -> None:
    weight = nn.Parameter(torch.ones(4))
    loss = step(weight, X).log().sum()
    loss.backward()


@pytest.mark.slow
def test_a_finding_names_the_line_inside_a_compiled_function():
    def forward(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(x * weight - 5)

    step = torch.compile(forward, backend="aot_eager", fullgraph=True)
    _, found = recorded(lambda: train(step))
    assert culprit(found) == "return torch.sqrt(x * weight - 5)"
    _, found = recorded(lambda: train(step), keep_compiled=True)
    assert culprit(found) == "loss = step(weight, X).log().sum()"
    hidden = HIDDEN.format("forward", "it stayed compiled")
    assert found.findings[0].message.endswith(hidden)
    assert found.notes == (hidden,)


@pytest.mark.slow
def test_no_finding_is_about_a_function_of_pytorch():
    step = torch.compile(cut, backend="aot_eager")
    for keep in (False, True):
        _, found = recorded(lambda: train(step), keep_compiled=keep)
        assert "CompiledFunction" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("stance", ["default", "fail_on_recompile", "force_eager"])
def test_the_stance_of_the_compiler_stays(stance: str):
    step = torch.compile(cut, backend="eager")
    with torch.compiler.set_stance(stance):
        before = eval_frame._stance
        recorded(lambda: train(step))
        assert eval_frame._stance is before
    assert "gradviz" not in str(eval_frame._callback_from_stance)


@pytest.mark.slow
def test_what_pytorch_compiles_for_itself_stays_compiled():
    weight = torch.ones(4, requires_grad=True)

    def branch(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(
            x.sum() > 0, lambda x: (x * weight).sin(), lambda x: x.cos(), (x,)
        )

    compiled: Any = torch.compile(branch, backend="eager", fullgraph=True)
    plain, found = [branch(X + 1), compiled(X + 1)], list[Any]()
    net = nn.Sequential(nn.Linear(4, 2), nn.Tanh())

    def run() -> None:
        found.extend([branch(X + 1), compiled(X + 1)])
        found[-1].sum().backward()
        assert explain(net)(X).graph_count == 1

    _, diagnosis = recorded(run)
    assert all(map(torch.equal, plain, found))
    assert diagnosis.findings == ()
    why = "PyTorch has to compile it"
    assert HIDDEN.format("_cond_op_wrapper", why) in diagnosis.notes


@DEPRECATED
def test_torchscript_is_one_call_and_says_so():
    weight, scripted = nn.Parameter(torch.ones(4)), torch.jit.script(logarithm)

    def run() -> None:
        loss = scripted(X * weight).sum()
        loss.backward()

    recorder, found = recorded(run)
    assert culprit(found) == "loss = scripted(X * weight).sum()"
    hidden = HIDDEN.format("logarithm", "it is TorchScript")
    assert hidden in found.findings[0].message
    assert hidden in recorder.snapshot().notes


@DEPRECATED
def test_a_scripted_module_goes_by_its_class():
    net: Any = torch.jit.trace(nn.Linear(4, 2), X)
    recorder, found = recorded(lambda: net(X).sum().backward())
    hidden = HIDDEN.format("Linear", "it is TorchScript")
    assert found.notes == (hidden,)
    assert "Linear" in [node.call for node in recorder.snapshot().nodes]
    assert "gradviz" not in str(type(net.forward).__call__)


def test_a_replayed_cuda_graph_is_noted(monkeypatch: pytest.MonkeyPatch):
    replayed: list[Any] = []
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", replayed.append)
    graph: Any = object()
    _, found = recorded(lambda: torch.cuda.CUDAGraph.replay(graph))
    assert replayed == [graph]
    assert ["A CUDA graph was replayed" in note for note in found.notes] == [True]


def test_a_recording_without_a_compiler_does_not_import_it():
    script = (
        "import sys, torch, gradviz\n"
        "with gradviz.record(engine='torch'):\n"
        "    torch.ones(2, requires_grad=True).sum().backward()\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
