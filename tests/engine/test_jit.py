"""What PyTorch would compile stays as it is, as it does there with PYTORCH_JIT=0."""

from __future__ import annotations

from typing import Any

import gradtape as gt


def test_functions_classes_and_modules_stay_as_they_are() -> None:
    class Net(gt.nn.Module):
        @gt.jit.export
        def forward(self, x: gt.Tensor) -> gt.Tensor:
            return double(x)

    @gt.jit.script
    def double(x: gt.Tensor) -> gt.Tensor:
        return 2 * x

    net = Net()
    assert gt.jit.script(net) is net
    assert gt.jit.trace(net, gt.ones(1), strict=False) is net
    assert gt.jit.trace_module(net, {"forward": gt.ones(1)}) is net
    assert gt.jit.script(Net) is Net
    x = gt.ones(2, requires_grad=True)
    net(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_script_modules_are_modules() -> None:
    class Scale(gt.jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.by = gt.nn.Parameter(gt.full((2,), 3.0))
            self.times = gt.jit.Attribute(2, int)

        @gt.jit.script_method
        def forward(self, x: Any) -> Any:
            return self.times * self.by * x

    scale = Scale()
    assert [name for name, _ in scale.named_parameters()] == ["by"]
    assert scale(gt.ones(2)).tolist() == [6.0, 6.0]


def test_forked_calls_run_at_once() -> None:
    future = gt.jit.fork(gt.add, gt.ones(2), other=gt.ones(2))
    assert isinstance(future, gt.futures.Future)
    assert gt.jit.wait(future).tolist() == [2.0, 2.0]
