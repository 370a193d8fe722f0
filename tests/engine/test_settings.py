"""Names that programs test for: backends, devices, versions, settings."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import pytest

import gradtape as gt

from .oracle import assert_same

ALIKE = [
    *("backends.cudnn.enabled", "backends.cudnn.benchmark"),
    *("backends.cudnn.deterministic", "backends.cudnn.allow_tf32"),
    *("backends.cudnn.is_available", "backends.cudnn.version"),
    *("backends.mkldnn.is_available", "backends.mkldnn.enabled"),
    *("backends.mkl.is_available", "backends.openmp.is_available"),
    *("backends.nnpack.is_available", "backends.opt_einsum.is_available"),
    *("backends.mps.is_available", "backends.mps.is_built"),
    *("backends.mps.is_macos13_or_newer", "backends.cuda.is_built"),
    *("backends.cuda.flash_sdp_enabled", "backends.cuda.math_sdp_enabled"),
    *("backends.cuda.mem_efficient_sdp_enabled", "backends.cuda.cudnn_sdp_enabled"),
    *("backends.cuda.matmul.allow_tf32", "backends.cuda.matmul.nothing"),
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    *("backends.cusparselt.is_available", "backends.mha.get_fastpath_enabled"),
    *("backends.flags_frozen", "backends.cpu.get_cpu_capability"),
    *("backends.opt_einsum.enabled", "backends.opt_einsum.strategy"),
    *("version.cuda", "version.hip", "version.debug"),
    *("cpu.is_available", "cpu.device_count", "cpu.current_device"),
    *("cpu.synchronize", "cpu.is_initialized"),
    *("mps.is_available", "mps.device_count", "mps.synchronize", "mps.empty_cache"),
    *("mps.current_allocated_memory", "mps.seed"),
    *("xpu.is_available", "xpu.device_count", "xpu.synchronize", "xpu.empty_cache"),
    *("xpu.current_device", "xpu.is_initialized", "xpu.memory_allocated"),
    *("mtia.is_available", "mtia.synchronize"),
    *("accelerator.is_available", "accelerator.device_count"),
    *("accelerator.current_accelerator", "accelerator.current_device_index"),
    *("accelerator.current_device_idx", "accelerator.synchronize"),
    *("accelerator.empty_cache", "accelerator.memory_allocated"),
    *("accelerator.current_stream", "accelerator.memory_stats"),
    *("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode"),
    *("is_deterministic_algorithms_warn_only_enabled", "compiled_with_cxx11_abi"),
    *("get_float32_matmul_precision", "get_num_threads", "get_default_device"),
]


@pytest.mark.parametrize("name", ALIKE)
def test_it_answers_as_pytorch_does_without_devices(name: str) -> None:
    def program(t: Any) -> Any:
        found = operator.attrgetter(name)(t)
        return found() if callable(found) else found

    assert_same(program)


def test_flags_are_kept_and_restored() -> None:
    def program(t: Any) -> Any:
        cudnn = t.backends.cudnn
        cudnn.benchmark = True
        seen = [cudnn.benchmark]
        cudnn.benchmark = False
        with cudnn.flags(enabled=False, deterministic=True):
            seen += [cudnn.enabled, cudnn.deterministic]
        seen += [cudnn.enabled, cudnn.deterministic]
        t.backends.cuda.enable_flash_sdp(False)
        seen.append(t.backends.cuda.flash_sdp_enabled())
        t.backends.cuda.enable_flash_sdp(True)
        return seen

    assert_same(program)


def test_precision_of_products_has_two_names() -> None:
    def program(t: Any) -> Any:
        t.backends.cuda.matmul.allow_tf32 = True
        seen = [t.get_float32_matmul_precision()]
        t.set_float32_matmul_precision("highest")
        seen.append(t.backends.cuda.matmul.allow_tf32)
        t.set_float32_matmul_precision("medium")
        seen.append(t.get_float32_matmul_precision())
        t.set_float32_matmul_precision("highest")
        return seen

    assert_same(program)


def test_a_flag_that_is_none_is_refused() -> None:
    assert_same(lambda t: setattr(t.backends.cuda.matmul, "nothing", 1))


def test_the_block_that_chooses_attention_warns() -> None:
    def program(t: Any) -> Any:
        with t.backends.cuda.sdp_kernel(enable_flash=False):
            inside = t.backends.cuda.flash_sdp_enabled()
        return inside, t.backends.cuda.flash_sdp_enabled()

    assert_same(program)


@pytest.mark.parametrize("kind", ["xpu", "mtia", "mps", "xla", "ipu", "fpga", "hpu"])
def test_tensors_on_devices_that_are_absent(kind: str) -> None:
    assert_same(lambda t: t.ones(1).to(kind))


@pytest.mark.parametrize("device", ["cpu", "mps:0"])
def test_cuda_takes_cuda_devices_only(device: str) -> None:
    assert_same(lambda t: t.ones(1).cuda(device))


def test_kinds_of_attention_are_chosen_in_blocks() -> None:
    def program(t: Any) -> Any:
        attention = t.nn.attention
        x = t.ones(1, 1, 2, 2)
        with attention.sdpa_kernel(attention.SDPBackend.MATH) as found:
            inside = t.nn.functional.scaled_dot_product_attention(x, x, x)
        return found, inside, int(attention.SDPBackend.EFFICIENT_ATTENTION)

    assert_same(program)
    assert_same(lambda t: t.nn.attention.sdpa_kernel("x").__enter__())


# ---- settings ----


@pytest.mark.parametrize("mode", ["default", "warn", "error", 0, 1, 2, "x", 7])
def test_determinism_by_number_and_name(mode: Any) -> None:
    def program(t: Any) -> Any:
        t.set_deterministic_debug_mode(mode)
        found = (
            t.are_deterministic_algorithms_enabled(),
            t.is_deterministic_algorithms_warn_only_enabled(),
            t.get_deterministic_debug_mode(),
        )
        t.set_deterministic_debug_mode(0)
        return found

    assert_same(program)


def test_determinism_as_programs_ask_for_it() -> None:
    def program(t: Any) -> Any:
        t.use_deterministic_algorithms(True, warn_only=True)
        found = t.get_deterministic_debug_mode()
        t.use_deterministic_algorithms(False)
        return found, t.get_deterministic_debug_mode()

    assert_same(program)


def test_a_mode_that_is_no_bool_is_refused() -> None:
    assert_same(lambda t: t.use_deterministic_algorithms(1))


@pytest.mark.parametrize("number", [0, -1, "two", 1.5])
def test_numbers_of_threads_are_checked(number: Any) -> None:
    assert_same(lambda t: t.set_num_threads(number))


def test_the_number_of_threads_is_kept() -> None:
    before = gt.get_num_threads()
    gt.set_num_threads(1)
    assert gt.get_num_threads() == 1
    gt.set_num_threads(before)


def test_the_older_way_to_a_default_dtype() -> None:
    def program(t: Any) -> Any:
        t.set_default_tensor_type("torch.DoubleTensor")
        seen = [t.get_default_dtype()]
        t.set_default_tensor_type(t.FloatTensor)
        seen.append(t.get_default_dtype())
        return seen

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, says the first call of a process
        ours = program(gt)
    assert ours == [gt.float64, gt.float32]


@pytest.mark.parametrize("kind", ["torch.IntTensor", "torch.cuda.FloatTensor"])
def test_other_default_types_are_refused(kind: str) -> None:
    assert_same(lambda t: t.set_default_tensor_type(kind))


@pytest.mark.parametrize("kind", ["cpu", "cuda", "mps", "nowhere", "meta", 3])
def test_modules_of_devices(kind: Any) -> None:
    assert_same(lambda t: t.get_device_module(kind).__name__.partition(".")[2])


# ---- versions ----


def test_programs_can_compare_the_version() -> None:
    def program(t: Any) -> Any:
        version = t.__version__
        return (
            [version > other for other in ("1.2", "2.9", "2.13.1", "3", (2, 13))],
            [version >= other for other in ("2.13", (2, 13), (2, 13, 0), "2.14.0rc1")],
            [version < other for other in ("2.14", (2, 2))],
            [version == other for other in ("2.13", "2.13.0", "2.12", "text")],
            version != "2.12",
            version.split("+")[0].split("."),
            type(version).__name__,
            version == t.version.__version__,
        )

    assert_same(program)


def test_the_version_is_pytorchs_with_ours_beside() -> None:
    assert gt.version.gradtape in gt.__version__
    assert "NumPy" in gt.__config__.show()
    assert str(gt.get_num_threads()) in gt.__config__.parallel_info()


@pytest.mark.parametrize(
    "pair", [("2.0", "2.0.0"), ("2.0a1", "2.0"), ("2.0.dev1", "2.0a1")]
)
def test_versions_are_ordered_as_pytorch_orders_them(pair: tuple[str, str]) -> None:
    def program(t: Any) -> Any:
        one, two = pair
        kind = t.torch_version.TorchVersion
        return kind(one) < two, kind(one) <= two, kind(one) == two, kind(two) > one

    assert_same(program)
