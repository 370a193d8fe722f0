"""What PyTorch does otherwise where somebody looks on: not because of a recording."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import gradviz
from gradviz._capture.session import Session


@pytest.fixture(params=[True, False], ids=["values", "cheap"])
def recorder(request: pytest.FixtureRequest) -> Iterator[Session]:
    recorder = gradviz.record(engine="torch", values=request.param)
    yield recorder
    assert [note for note in recorder.diagnose().notes if "left out" in note] == []


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@torch.no_grad()
def test_transformers_keep_to_their_fast_path(recorder: Session) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x, padding = torch.randn(3, 5, 16), torch.zeros(3, 5, dtype=torch.bool)
    padding[0, 3:] = True

    def results() -> list[torch.Tensor]:
        padded = encoder(x, src_key_padding_mask=padding)
        return [encoder(x), padded, attention(x, x, x)[0]]

    expected = results()
    with recorder:
        found = results()
    assert all(map(torch.equal, found, expected))
    assert not found[1][0, 3:].any()


def test_another_mode_still_leaves_the_fast_path(recorder: Session) -> None:
    asked = torch.overrides.has_torch_function
    with recorder:
        assert not torch.overrides.has_torch_function((torch.ones(1),))
        with torch.overrides.BaseTorchFunctionMode():
            assert torch.overrides.has_torch_function((torch.ones(1),))
    assert torch.overrides.has_torch_function is asked


@pytest.fixture
def swapping() -> Iterator[None]:
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def converted(model: nn.Linear, optimizer: torch.optim.Optimizer) -> float:
    """Train a step, as float64 from then on."""
    for dtype in (torch.float32, torch.float64):
        model.to(dtype)
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3, dtype=dtype)).square().mean()
        loss.backward()
        optimizer.step()
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})
    return model.weight.sum().item()


@pytest.mark.usefixtures("swapping")
def test_recorded_and_watched_parameters_can_be_swapped(
    recorder: Session,
) -> None:
    def made() -> tuple[nn.Linear, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        return model, torch.optim.SGD(model.parameters(), 0.1)

    expected = converted(*made())
    with recorder:
        assert converted(*made()) == expected
    model, optimizer = made()
    with gradviz.watch(model, optimizer, every=1, page=None) as watched:
        assert converted(model, optimizer) == expected
    assert watched.history.norms.shape == (2, 2)


@pytest.mark.usefixtures("swapping")
def test_a_users_weak_reference_forbids_the_swap(recorder: Session) -> None:
    model = nn.Linear(3, 1)
    with recorder:
        model(torch.ones(3))
        held = weakref.ref(model.weight)
        with pytest.raises(RuntimeError, match="Couldn't swap Linear"):
            model.double()
        assert held() is model.weight


class Listening(TorchDispatchMode):
    """Keeps the names of all operations that it is told of."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.heard.append(str(func))
        return func(*args, **(kwargs or {}))


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0] * grad


def trained_step() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.zeros(4, 3)
    x[0] = 1.0
    Squared.apply(model(x).relu()).sum().backward()
    torch.autograd.grad(model.weight.sum(), model.weight)
    optimizer.step()


def test_dispatch_modes_hear_the_program_alone(recorder: Session) -> None:
    alone, recorded = Listening(), Listening()
    with alone:
        trained_step()
    with recorder, recorded:
        trained_step()
    assert recorded.heard == alone.heard


class Asking(TorchFunctionMode):
    """Keeps the names of all functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.heard.append(func.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("outermost", [True, False])
def test_function_modes_hear_the_program_alone(
    recorder: Session, outermost: bool
) -> None:
    alone, recorded = Asking(), Asking()
    with alone:
        trained_step()
    outer, inner = (recorded, recorder) if outermost else (recorder, recorded)
    with outer, inner:
        trained_step()
    assert recorded.heard == alone.heard


class Wrapper(torch.Tensor):
    """A tensor without memory, which knows another one that has some."""

    heard: ClassVar[list[str]] = []
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, needs: bool = False) -> Wrapper:
        self = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=needs
        )
        self.inner = inner
        return self

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        cls.heard.append(str(func))
        args, kwargs = tree_map_only(cls, lambda each: each.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, func(*args, **kwargs))


def test_wrappers_of_tensors_hear_the_program_alone(recorder: Session) -> None:
    def run() -> torch.Tensor:
        Wrapper.heard.clear()
        x = Wrapper(torch.ones(2000, 2), needs=True)
        optimizer = torch.optim.SGD([x], 0.1)
        (Squared.apply(x).relu() * 2).sum().backward()
        x.split(1, 1)[0].detach()[0] = 3.0
        torch.autograd.grad(x.sum(), x)
        x.backward(Wrapper(torch.ones(2000, 2)))
        optimizer.step()
        return x.inner

    expected, alone = run(), list(Wrapper.heard)
    with recorder:
        found = run()
    assert torch.equal(found, expected)
    assert Wrapper.heard == alone
    assert recorder.snapshot().nodes


def test_tensors_without_memory_are_recorded(recorder: Session) -> None:
    with recorder:
        torch.func.functionalize(lambda x: x.split(1000)[0].add_(1))(torch.ones(2000))
        with FakeTensorMode():
            nn.Linear(3, 2)(torch.ones(2, 3)).sum().backward()
    assert recorder.snapshot().nodes


def test_what_can_be_read_once_is_left_to_the_pass(recorder: Session) -> None:
    model = nn.Linear(2, 1)

    def loss() -> torch.Tensor:
        return model(torch.ones(3, 2)).sum()

    with recorder:
        weight, bias = torch.autograd.grad(loss(), model.parameters())
        loss().backward(inputs=model.parameters())
        torch.autograd.backward(each for each in [loss()])
    assert torch.equal(model.weight.grad, 2 * weight)
    assert torch.equal(model.bias.grad, 2 * bias)


def test_arguments_are_not_asked_for_what_they_answer(recorder: Session) -> None:
    asked: list[str] = []

    class Odd:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            raise AttributeError(name)

        @classmethod
        def __torch_function__(cls, *_: Any) -> int:
            return 1

    with recorder:
        torch.add(torch.ones(1), Odd())  # type: ignore[call-overload]
        torch.autograd.grad(Odd(), Odd())  # type: ignore[arg-type]
    assert asked == []
