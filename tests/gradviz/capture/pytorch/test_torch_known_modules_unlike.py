"""Modules and instructions that a log knows, and that do something else than before."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from gradviz._capture.adapters.pytorch.log import TorchLog
from gradviz.program.events import Call

torch = pytest.importorskip("torch")
nn = torch.nn

_STEPS = 8  # the first of a kind are looked at closely


def test_a_known_module_that_gives_something_else_is_logged() -> None:
    pool, x = nn.AdaptiveAvgPool1d([2]), torch.ones(1, 6, requires_grad=True)
    with TorchLog(scan=False) as log:
        shapes = [tuple(pool(x).shape) for _ in range(_STEPS)]
        pool.output_size[0] = 3
        shapes.append(tuple(pool(x).shape))
    assert not log.program.notes
    calls = [each for each in log.program.events if isinstance(each, Call)]
    assert [each.outputs[0].shape for each in calls] == shapes


def test_a_known_sequential_that_gives_something_else_is_said() -> None:
    net = nn.Sequential(nn.Linear(3, 6), nn.Softplus(), nn.LPPool1d(2, 2))
    with TorchLog(scan=False) as log:
        for _ in range(_STEPS):
            net(torch.ones(2, 3)).sum().backward()
        vars(net[2])["kernel_size"] = 3
        vars(net[2])["stride"] = 3
        net(torch.ones(2, 3)).sum().backward()
    assert "a Sequential gave something else than before" in log.program.notes[0]


def test_an_instruction_that_gives_other_kinds_is_told_of_each() -> None:
    x = torch.ones(4, 4, requires_grad=True)
    cube, wide = torch.ones(2, 4, 4), x.detach().double().requires_grad_()
    given: list[Any] = [
        *[(torch.exp, each) for each in (x, x[:2], x.T, wide)],
        *[(torch.narrow, x, 0, at, 2) for at in (1, 2)],
        *[(torch.matmul, *each) for each in ((x, x), (cube, x), (x, cube))],
        *[(function, x, 2) for function in (torch.chunk, torch.topk)],
    ]
    results: list[Any] = []
    with TorchLog(scan=False) as log:
        for function, *rest in [each for each in given * 2 for _ in range(4)]:
            results.append(function(*rest))
    assert not log.program.notes
    calls = [each for each in log.program.events if isinstance(each, Call)]
    for call, result in zip(calls, results, strict=True):
        several = result if isinstance(result, tuple | list) else [result]
        for told, tensor in zip(call.outputs, several, strict=True):
            assert told.shape == tuple(tensor.shape)
            assert told.strides == tensor.stride()
            assert told.offset == tensor.storage_offset()
            assert told.dtype == str(tensor.dtype).removeprefix("torch.")
            assert (told.node, told.output) == _made_by(tensor)


def _made_by(tensor: Any) -> tuple[int | None, int]:
    fn = tensor.grad_fn
    return None if fn is None else fn._sequence_nr() + 1, tensor.output_nr


def test_a_known_pass_is_read_where_what_it_saved_was_packed() -> None:
    x = torch.ones(3, requires_grad=True)
    read: list[bool] = []
    with TorchLog(scan=False) as log:
        for step in range(15):  # passes 8 and 16 are read anyway
            hooks = torch.autograd.graph.saved_tensors_hooks(_same, _same)
            with hooks if step in (11, 13) else nullcontext():
                loss = x.exp().sum()
            node = loss.grad_fn._sequence_nr() + 1
            loss.backward()
            read.append(node in log.program.nodes)
    assert read[8:] == [False, False, False, True, False, True, False]


def _same(packed: Any) -> Any:
    return packed
