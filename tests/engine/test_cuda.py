"""The cuda module: without CuPy as PyTorch without CUDA, with it on a stand-in."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import gradtape as gt

from . import standin
from .oracle import assert_same

without_cupy = pytest.mark.skipif(
    find_spec("cupy") is not None, reason="CuPy is installed"
)

ABSENT = [
    *("is_available", "device_count", "is_initialized", "init", "current_device"),
    *("get_device_name", "get_device_properties", "get_device_capability"),
    *("memory_allocated", "memory_reserved", "max_memory_allocated"),
    *("max_memory_reserved", "memory_cached", "max_memory_cached", "empty_cache"),
    *("synchronize", "current_stream", "default_stream", "Stream", "Event"),
    *("is_bf16_supported", "get_arch_list", "get_rng_state", "get_rng_state_all"),
    *("initial_seed", "seed", "seed_all", "ipc_collect", "mem_get_info"),
    *("is_tf32_supported", "amp.common.amp_definitely_not_available"),
]


@without_cupy
@pytest.mark.parametrize("name", ABSENT)
def test_without_cupy_it_answers_as_without_cuda(name: str) -> None:
    assert_same(lambda t: operator.attrgetter(name)(t.cuda)())


PROGRAMS = {
    "tensor": lambda t: t.ones(1, device="cuda"),
    "cuda": lambda t: t.ones(1).cuda(),
    "to": lambda t: t.ones(1).to("cuda:3"),
    "module": lambda t: t.nn.Linear(1, 1).cuda(),
    "FloatTensor": lambda t: t.cuda.FloatTensor(2),
    "type": lambda t: isinstance(t.ones(1), t.cuda.FloatTensor),
    "number": lambda t: t.device(0),
    "manual_seed": lambda t: (t.cuda.manual_seed(3), t.cuda.manual_seed_all(3)),
    "set_rng_state": lambda t: t.cuda.set_rng_state(t.get_rng_state()),
    "stream": lambda t: t.cuda.stream(None).__enter__(),
    "set_stream": lambda t: t.cuda.set_stream(None),
    "nvtx": lambda t: t.cuda.nvtx.range_push("a"),
    "fraction": lambda t: t.cuda.set_per_process_memory_fraction(0.5),
    "stats": lambda t: dict(t.cuda.memory_stats()),
    "plans": lambda t: t.backends.cuda.cufft_plan_cache.size,
}


@without_cupy
@pytest.mark.parametrize("name", PROGRAMS)
def test_without_cupy_programs_hear_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])


def test_the_seed_of_an_absent_device_changes_nothing() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        t.cuda.manual_seed_all(5)
        return t.rand(2)

    assert_same(program)


@without_cupy
def test_a_missing_device_names_the_package() -> None:
    with pytest.raises(AssertionError) as missing:
        gt.cuda.init()
    assert "pip install cupy-cuda12x" in missing.value.__notes__[0]


# ---- with a stand-in for CuPy ------------------------------------------------------


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Put the stand-in in CuPy's place; yield what its driver is asked."""
    yield standin.put_in_place(monkeypatch)
    standin.remove()


@pytest.mark.usefixtures("log")
def test_tensors_go_to_the_device_and_back() -> None:
    x = gt.arange(6.0).reshape(2, 3)
    there = x.cuda()
    assert there.is_cuda
    assert there.device == gt.device("cuda:0")
    assert there.to("cuda") is there
    assert there.cuda() is there
    assert gt.equal(there.cpu(), x)
    assert there.type() == "torch.cuda.FloatTensor"
    assert isinstance(there, gt.cuda.FloatTensor)
    assert not isinstance(there, gt.FloatTensor)
    assert x.type(gt.cuda.DoubleTensor).dtype is gt.float64
    assert x.type("torch.cuda.HalfTensor").is_cuda
    assert gt.cuda.IntTensor([1, 2]).is_cuda
    assert there.to("cpu", gt.float64).dtype is gt.float64


@pytest.mark.usefixtures("log")
def test_numbers_and_host_scalars_meet_device_tensors() -> None:
    x = gt.ones(2, device="cuda")
    half = gt.tensor(0.5)  # 0-d: may stay on the host, as in PyTorch
    for found in (x * 2, 2 * x, x + half, half + x, x - 1.0, 1 / (x + 1), x**2):
        assert found.is_cuda
    assert (x * 2 + half).tolist() == [2.5, 2.5]
    assert (half * x).dtype is gt.float32
    assert (x.int() * 1.5).tolist() == [1.5, 1.5]


@pytest.mark.usefixtures("log")
def test_gradients_live_where_their_leaves_do() -> None:
    host = gt.ones(3, requires_grad=True)
    leaf = gt.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    ((host.cuda() * leaf).exp().sum() + leaf.relu().mean()).backward()
    assert host.grad is not None
    assert leaf.grad is not None
    assert (host.grad.is_cuda, leaf.grad.is_cuda) == (False, True)
    e = np.exp([1.0, 2.0, 3.0])
    np.testing.assert_allclose(host.grad.numpy(), e * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(leaf.grad.cpu().numpy(), e + 1 / 3, rtol=1e-6)


@pytest.mark.usefixtures("log")
def test_a_model_trains_on_the_device_as_on_the_host() -> None:
    def losses(device: str) -> list[float]:
        gt.manual_seed(0)
        model = gt.nn.Sequential(
            gt.nn.Linear(3, 4), gt.nn.Tanh(), gt.nn.Linear(4, 2)
        ).to(device)
        sgd = gt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = gt.linspace(-1, 1, 15).reshape(5, 3).to(device)
        y = gt.tensor([0, 1, 1, 0, 1], device=device)
        found: list[float] = []
        for _ in range(4):
            sgd.zero_grad()
            loss = gt.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            sgd.step()
            found.append(loss.item())
        assert all(p.is_cuda == (device == "cuda") for p in model.parameters())
        return found

    assert losses("cuda") == pytest.approx(losses("cpu"), rel=1e-6)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    "program",
    [
        lambda x, y: x + y,
        lambda x, y: y * x,
        lambda x, y: x @ y,
        lambda x, y: gt.cat([x, y]),
        lambda x, y: gt.where(x > 0, x, y),
    ],
    ids=["add", "mul", "matmul", "cat", "where"],
)
def test_two_devices_in_one_op_are_refused(program: Any) -> None:
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same"
    ) as e:
        program(gt.ones(2), gt.ones(2, device="cuda"))
    assert "cuda:0" in str(e.value)
    assert "cpu" in str(e.value)


@pytest.mark.usefixtures("log")
def test_a_device_tensor_is_not_read_by_numpy() -> None:
    x = gt.ones(2, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]


@pytest.mark.usefixtures("log")
def test_queries() -> None:
    assert gt.cuda.is_available()
    assert gt.cuda.device_count() == 1
    assert gt.cuda.current_device() == 0
    assert gt.cuda.get_device_name() == gt.cuda.get_device_name("cuda:0") == "Stand-in"
    assert gt.cuda.get_device_capability(0) == (9, 0)
    properties = gt.cuda.get_device_properties(gt.device("cuda", 0))
    assert properties.total_memory == 80 << 20
    assert properties.multi_processor_count == 132
    assert properties.uuid == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert "total_memory=80MB" in repr(properties)
    assert gt.cuda.is_bf16_supported()
    assert gt.cuda.is_initialized()
    assert gt.cuda.mem_get_info() == (3, 8)
    assert gt.version.cuda == "12.9"
    assert gt.accelerator.current_accelerator() == gt.device("cuda")
    assert gt.get_device_module() is gt.cuda
    assert gt.backends.cuda.is_built()
    assert "CuPy 14" in gt.__config__.show()


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("device", "error", "said"),
    [
        ("cpu", ValueError, "Expected a cuda device, but got: cpu"),
        (7, AssertionError, "Invalid device id"),
        (1.5, ValueError, "Expected a torch.device with a specified index"),
    ],
    ids=["host", "absent", "float"],
)
def test_devices_that_are_none(device: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        gt.cuda.get_device_properties(device)


def test_blocks_choose_the_device(log: list[Any]) -> None:
    with gt.cuda.device(0):
        pass
    with gt.cuda.device(-1), gt.cuda.device_of(gt.ones(1)):
        pass
    gt.cuda.set_device("cuda:0")
    assert log == [("device", 0)] * 3


@pytest.mark.usefixtures("log")
def test_memory_figures() -> None:
    pool = sys.modules["cupy"].pool
    assert gt.cuda.memory_allocated() == 100
    assert gt.cuda.memory_reserved() == 400
    gt.cuda.reset_peak_memory_stats()
    (hook,) = sys.modules["cupy"].cuda.MemoryHook.opened
    pool.used = 250
    hook.malloc_postprocess(device_id=0, size=150, mem_size=150, mem_ptr=1, pmem_id=1)
    pool.used = 100
    assert gt.cuda.max_memory_allocated() == 250
    assert gt.cuda.memory_stats()["allocated_bytes.all.peak"] == 250
    assert gt.cuda.memory_allocated() == 100
    gt.cuda.empty_cache()
    assert gt.cuda.memory_reserved() == 100
    assert gt.cuda.max_memory_reserved() == 400
    gt.cuda.reset_peak_memory_stats()
    assert gt.cuda.max_memory_allocated() == 100
    assert "Peak Usage" in gt.cuda.memory_summary()
    gt.cuda.set_per_process_memory_fraction(0.5)
    assert pool.limit == 0.5
    with pytest.raises(ValueError, match="Invalid fraction value"):
        gt.cuda.set_per_process_memory_fraction(2.0)


def test_streams_and_events(log: list[Any]) -> None:
    stream = gt.cuda.Stream()
    with gt.cuda.stream(stream):
        event = stream.record_event()
    stream.wait_stream(gt.cuda.current_stream())
    stream.synchronize()
    event.synchronize()
    gt.cuda.set_stream(stream)
    asked = [each for each in log if isinstance(each, str)]
    assert asked[:5] == ["enter", "record", "exit", "record", "wait"]
    assert asked[5:] == ["synchronize", "event", "use"]
    assert stream.query()
    assert event.query()
    assert stream.device == gt.device("cuda", 0)
    assert gt.cuda.default_stream() == gt.cuda.current_stream() != stream
    begin, end = (gt.cuda.Event(enable_timing=True) for _ in range(2))
    assert begin.elapsed_time(end) == 2.5
    assert gt.cuda.ExternalStream(99).cuda_stream == 99


def test_ranges_are_named(log: list[Any]) -> None:
    with gt.cuda.nvtx.range("step {}", 3):
        gt.cuda.nvtx.mark("middle")
    assert log == [("push", "step 3"), ("mark", "middle"), "pop"]


@pytest.mark.usefixtures("log")
def test_one_generator_serves_all_devices() -> None:
    gt.manual_seed(4)
    host = gt.rand(3)
    gt.cuda.manual_seed_all(4)
    there = gt.rand(3, device="cuda")
    assert there.is_cuda
    assert gt.equal(there.cpu(), host)
    states = gt.cuda.get_rng_state_all()
    before = gt.rand(2)
    gt.cuda.set_rng_state_all(states)
    assert gt.equal(gt.rand(2), before)


@pytest.mark.usefixtures("log")
def test_autocast_and_scaling_on_the_device() -> None:
    x = gt.ones(2, 2, device="cuda", requires_grad=True)
    with gt.autocast("cuda"):
        y = x @ x
        z = y.exp()
        assert (gt.eye(2) @ gt.eye(2)).dtype is gt.float32  # the host's stay
    assert (y.dtype, z.dtype) == (gt.float16, gt.float32)
    scaler = gt.amp.GradScaler(init_scale=2.0)
    sgd = gt.optim.SGD([x], lr=0.1)
    scaler.scale(z.sum()).backward()
    scaler.step(sgd)
    scaler.update()
    assert x.grad is not None
    assert x.grad.is_cuda
    assert x.grad.dtype is gt.float32
    assert scaler.get_scale() == 2.0


@pytest.mark.usefixtures("log")
def test_a_machine_without_devices_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = sys.modules["cupy"]

    def missing() -> int:
        raise cupy.cuda.runtime.CUDARuntimeError("no driver")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", missing)
    assert not gt.cuda.is_available()
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        gt.ones(1, device="cuda")
