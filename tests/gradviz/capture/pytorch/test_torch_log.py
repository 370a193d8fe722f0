"""Under the log of PyTorch a program computes, raises and frees as it does without."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from gradviz._capture.adapters.pytorch.log import TorchLog
from gradviz.diagnosis.diagnose import diagnose
from gradviz.program.events import (
    Backward,
    Call,
    HookRan,
    HookRegistered,
    ModeSwitched,
    OptimizerCall,
)
from gradviz.program.history import History
from gradviz.program.records import Program


@pytest.fixture(params=[True, False], ids=["scan", "cheap"])
def log(request: pytest.FixtureRequest) -> Iterator[TorchLog]:
    with TorchLog(scan=request.param) as log:
        yield log
    assert [note for note in log.program.notes if "left out" in note] == []


def calls(program: Program, op: str) -> list[Call]:
    return [e for e in program.events if isinstance(e, Call) and e.op == op]


def only(program: Program, kind: type) -> Any:
    (found,) = [e for e in program.events if isinstance(e, kind)]
    return found


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(16), nn.Dropout(0.3)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        y = self.drop(self.out(weights @ v))
        return nn.functional.relu(y, inplace=True) + x


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 2


def train(optimizer: Callable[..., Any]) -> list[torch.Tensor]:
    torch.manual_seed(3)
    net = nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(64, 3))
    opt = optimizer(net.parameters(), lr=0.01)
    seen: list[torch.Tensor] = []
    for step in range(4):
        x, y = torch.randn(5, 4, 16), torch.randint(0, 3, (5,))
        opt.zero_grad(set_to_none=bool(step % 2))
        h = net[0](x)
        h.register_hook(lambda g: g * 0.5)
        loss = nn.functional.cross_entropy(net[2:](net[1](Double.apply(h))), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        seen.append(loss.detach())
    return [*seen, *(p.detach() for p in net.parameters())]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_training_is_bit_equal_under_the_log(optimizer: Any):
    plain = train(optimizer)
    for scan in (True, False):
        with TorchLog(scan=scan) as log:
            recorded = train(optimizer)
        assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))
        assert log.program.notes == []


def test_a_stale_tensor_still_raises_and_is_found_beforehand(log: TorchLog):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()
    event = only(log.program, Backward)
    (stale,) = event.stale
    assert (stale.slot, stale.version_now, stale.silent) == ("_saved_result", 1, False)
    assert log.program.nodes[stale.node].name == "ExpBackward0"
    (write,) = calls(log.program, "add_")[0].writes
    assert (write.storage, write.after) == (stale.value.storage, 1)
    assert stale.value.tensor == calls(log.program, "exp")[0].outputs[0].tensor


def test_a_second_pass_names_the_nodes_freed_by_the_first(log: TorchLog):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    first, second = [e for e in log.program.events if isinstance(e, Backward)]
    (freed,) = second.freed
    assert first.freed == ()
    assert log.program.nodes[freed].freed_by == first.index


def test_a_write_behind_the_version_is_found():
    with TorchLog() as log:
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        y = (h**2).sum()
        h.detach().numpy()[:] = 0
        y.backward()
    (stale,) = only(log.program, Backward).stale
    assert stale.silent
    assert stale.after == calls(log.program, "numpy")[0].index


def test_nothing_of_the_program_outlives_it():
    with TorchLog() as log:
        net = Block()
        x = torch.randn(2, 4, 16, requires_grad=True)
        h = net(x)
        h.register_hook(lambda g: None)
        h.sum().backward()
        gone = [weakref.ref(each) for each in (net, x, h, net.qkv.weight)]
        del net, x, h
        gc.collect()
        assert [each() for each in gone] == [None] * 4
    assert len(log.program.nodes) > 10


@pytest.mark.usefixtures("no_collector")
def test_activations_are_freed_without_the_collector(log: TorchLog):
    x = torch.randn(4, requires_grad=True)
    h = x.exp()
    gone = weakref.ref(h.untyped_storage())
    h.sum().backward()
    del h
    assert gone() is None


def test_everything_is_put_back():
    before = (
        torch.from_numpy,
        torch.autograd.backward,
        torch.autograd.grad,
        torch.autograd._engine_run_backward,  # type: ignore[attr-defined]
        torch.inference_mode.__enter__,
        torch.utils.hooks.RemovableHandle.remove,
        nn.Module.__call__,
        torch.optim.SGD.step,
    )
    with TorchLog(), pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    after = (
        torch.from_numpy,
        torch.autograd.backward,
        torch.autograd.grad,
        torch.autograd._engine_run_backward,  # type: ignore[attr-defined]
        torch.inference_mode.__enter__,
        torch.utils.hooks.RemovableHandle.remove,
        nn.Module.__call__,
        torch.optim.SGD.step,
    )
    assert before == after
    assert torch._C._len_torch_function_stack() == 0


def test_modes_name_how_they_were_switched(log: TorchLog):
    @torch.no_grad()
    def helper() -> bool:
        return torch.is_grad_enabled()

    helper()
    with torch.inference_mode():
        torch.ones(2)
    with torch.enable_grad():
        pass
    switches = [e for e in log.program.events if isinstance(e, ModeSwitched)]
    assert [(e.how, e.leaving) for e in switches] == [
        *(("no_grad", False), ("no_grad", True)),
        *(("inference_mode", False), ("inference_mode", True)),
        *(("enable_grad", False), ("enable_grad", True)),
    ]
    assert switches[0].function is helper.__wrapped__.__code__
    assert calls(log.program, "ones")[0].inference


def test_hooks_are_logged_when_put_and_when_run(log: TorchLog):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: g.mul_(2))
    y.grad_fn.register_hook(lambda a, b: None)
    (y * 3).sum().backward()
    handle.remove()
    on_tensor, on_node = [
        e for e in log.program.events if isinstance(e, HookRegistered)
    ]
    ran = only(log.program, HookRan)
    assert (on_tensor.kind, on_node.kind) == ("tensor", "node")
    assert on_tensor.removed
    assert on_tensor.value is not None
    assert (ran.hook, ran.changed, ran.returned) == (on_tensor.hook, True, True)
    assert on_node.target == on_tensor.value.node
    assert calls(log.program, "mul_")[0].index > only(log.program, Backward).index
    assert x.grad is not None
    assert x.grad.tolist() == [12.0, 12.0]


def test_a_failed_call_is_logged_with_its_error(log: TorchLog):
    with pytest.raises(RuntimeError):
        torch.ones(2, 3) @ torch.ones(2, 3)
    (call,) = calls(log.program, "matmul")
    assert call.error is not None
    assert "cannot be multiplied" in call.error
    assert [value.shape for value in call.inputs] == [(2, 3), (2, 3)]


def test_a_key_of_a_list_writes_rows_and_of_a_tuple_one_element(log: TorchLog):
    x = torch.zeros(3, 2)
    x[0, 1] = 1.0
    x[[0, 1]] = 2.0
    x[[2]] = 3.0
    (one,), (rows,), (row,) = (e.writes for e in calls(log.program, "__setitem__"))
    assert (one.value.shape, one.value.offset) == ((), 1)
    assert rows.value.shape == row.value.shape == (3, 2)  # some of the whole


def test_other_threads_are_named_in_the_notes():
    def work() -> None:
        torch.ones(2, requires_grad=True).sum().backward()

    with TorchLog() as log:
        thread = threading.Thread(target=work, name="loader")
        thread.start()
        thread.join()
    (note,) = log.program.notes
    assert "'loader'" in note
    assert not [e for e in log.program.events if isinstance(e, Backward)]


def test_what_another_thread_did_is_no_evidence():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train() -> None:
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    with TorchLog() as log:
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert History(log.program).of(OptimizerCall) == []
    assert diagnose(log.program).findings == ()


def test_gradients_are_summarized_as_each_node_got_them():
    def write_unseen(gradient: torch.Tensor) -> None:
        gradient.data.mul_(3)  # no version tells

    x = torch.ones(4, requires_grad=True)
    with TorchLog() as log:
        y = x * 2
        y.register_hook(write_unseen)
        shared = y.exp()
        shared.retain_grad()
        (shared.sin() + shared.cos() + shared.tan()).sum().backward()  # added in place
    (event,) = (e for e in log.program.events if isinstance(e, Backward))
    runs = {log.program.nodes[run.node].name: run for run in event.runs}
    assert x.grad is not None
    assert shared.grad is not None
    for name, gradient in (("Exp", shared.grad), ("Mul", x.grad / 2)):
        (incoming,) = runs[f"{name}Backward0"].incoming
        assert incoming.norm == pytest.approx(gradient.norm().item())


def test_a_traceback_shows_no_frame_of_the_recording():
    def fail() -> None:
        x = torch.ones(2, requires_grad=True)
        (x * x).backward()

    def frames(run: Callable[[], None]) -> list[tuple[str, str]]:
        try:
            run()
        except RuntimeError as error:
            return [
                (frame.name, frame.line or "")
                for frame in traceback.extract_tb(error.__traceback__)[1:]
            ]
        raise AssertionError

    def recorded() -> None:
        with TorchLog():
            fail()

    assert frames(recorded)[1:] == frames(fail)


def test_default_devices_hold_inside_a_step():
    with torch.device("meta"), TorchLog() as log:
        net = nn.Linear(2, 2)
        torch.optim.Adam(net.parameters())
        net(torch.ones(1, 2)).sum().backward()
    assert calls(log.program, "ones")[0].outputs[0].device == "meta"


def test_subclasses_do_not_see_our_questions():
    asked: list[str] = []

    class Nosy(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Nosy)
    plain = (x + 1).sum()
    before, asked[:] = list(asked), []
    with TorchLog(scan=False):
        again = (x + 1).sum()
    assert asked == before
    assert type(again) is type(plain)


@pytest.mark.parametrize("module", [False, True], ids=["function", "module"])
@pytest.mark.parametrize("scan", [True, False], ids=["scan", "cheap"])
def test_a_call_kept_compiled_is_one_call_and_not_traced(scan: bool, module: bool):
    def double(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).sin()

    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append([node.name for node in graph.graph.nodes if node.op != "output"])
        return graph.forward

    net = nn.Linear(2, 2)
    function = torch.compile(net if module else double, backend=backend)
    x = torch.ones(2, 2, requires_grad=True)
    with TorchLog(scan=scan, keep_compiled=True) as log:
        function(x).sum().backward()
    assert x.grad is not None
    assert len(graphs) == 1
    name = "Linear" if module else "double"
    assert len(calls(log.program, name)) == 1
    hidden = f"What happens inside `{name}` was not seen: it stayed compiled."
    assert log.program.notes == [hidden]
