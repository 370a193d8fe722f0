"""What libraries import from PyTorch's subsystems that are not here."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import pytest

import gradtape as gt
from gradtape._common.refusals import OutOfReachError

from ..oracle import assert_same

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def of(t: Any, module: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{module}")


# ---- what is refused, at each of its places ----

PLACES = {
    "_dynamo.OptimizedModule": "_dynamo.eval_frame",
    "_subclasses.fake_tensor.FakeTensor": "_subclasses",
    "distributed.DeviceMesh": "distributed.device_mesh",
    "distributed.checkpoint.HuggingFaceStorageReader": (
        "distributed.checkpoint.hf_storage"
    ),
    "distributed.fsdp.FSDPModule": "distributed._composable.fsdp",
    "distributed.fsdp.MixedPrecision": "distributed.fsdp.fully_sharded_data_parallel",
    "distributed.tensor.DTensor": "distributed._tensor",
    "fx.GraphModule": "fx.graph_module",
    "fx.Node": "fx.node",
    "fx.Proxy": "fx.proxy",
    "quantization.QuantStub": "ao.quantization",
}


@pytest.mark.parametrize("name", PLACES)
def test_a_class_is_the_same_wherever_it_is_imported_from(name: str):
    def program(t: Any) -> bool:
        home, _, short = name.rpartition(".")
        second: Any = getattr(of(t, PLACES[name]), short)
        return second is getattr(of(t, home), short)

    assert_same(program)


def test_classes_may_inherit_from_a_refused_one_and_be_none_the_better():
    class Own(gt.fx.Tracer, gt.nn.Module):
        def __init__(self) -> None:
            raise AssertionError("never reached")

    with pytest.raises(OutOfReachError, match=r"torch\.fx\.Tracer is out of reach"):
        Own()


@pytest.mark.parametrize(
    "name", ["TensorType", "PyTorchFileReader", "PyTorchFileWriter", "ScriptModule"]
)
def test_inner_classes_are_found_outside_too(name: str):
    assert isinstance(getattr(gt, name), type)
    assert hasattr(torch, name)


def test_the_module_is_found_in_itself():
    assert_same(lambda t: t.torch is t)


# ---- ops and keys of extensions ----


def test_every_namespace_of_ops_exists_and_only_its_ops_are_missing():
    def program(t: Any) -> Any:
        assert t.ops.nobody_made_this is t.ops.nobody_made_this
        return t.ops.nobody_made_this.op

    assert_same(program)


def test_compiled_ops_cannot_be_loaded(tmp_path: Any):
    assert_same(lambda t: t.ops.load_library(str(tmp_path / "ops.so")))


def test_shapes_of_an_extension_may_be_told_before_its_op_is_there(tmp_path: Any):
    """PyTorch would have loaded its compiled ops, which are out of reach here."""
    path = tmp_path / "library_names" / "_C.so"
    with pytest.raises(RuntimeError, match="library_names::twice does not exist"):
        gt.library.register_fake("library_names::twice", gt.empty_like)
    with pytest.raises(OSError, match="Could not load"):
        gt.ops.load_library(str(path))

    @gt.library.register_fake("library_names::twice")
    def fake(x: gt.Tensor) -> gt.Tensor:
        return x.new_empty(2, 3)

    @gt.library.custom_op("library_names::twice", mutates_args=())
    def twice(x: gt.Tensor) -> gt.Tensor:
        return x * 2

    assert twice(gt.empty(1, device="meta")).shape == (2, 3)
    assert gt.library.register_fake(twice, lambda x: x.new_empty(5))
    assert twice(gt.empty(1, device="meta")).shape == (5,)


def test_keys_of_the_dispatcher_are_put_together():
    def program(t: Any) -> Any:
        key, keys = t._C.DispatchKey, t._C.DispatchKeySet
        both = keys(key.AutocastXPU) | keys(key.AutocastCPU) | keys(key.CPU)
        less = both - keys(key.CPU)
        found = [repr(each) for each in (both, less, both & keys(key.CPU))]
        return [*found, less.has(key.CPU), less == both, both == less | keys(key.CPU)]

    assert_same(program)


def test_ops_that_pin_memory_give_a_tensor():
    x = gt.ones(2)
    assert gt.ops.aten._pin_memory.default(x).tolist() == x.pin_memory().tolist()


# ---- marks, and questions whose answer is no ----


def test_marks_of_compilers_change_nothing():
    def plain(x: int) -> int:
        return x + 1

    helper = of(gt, "onnx.symbolic_helper")
    marks = (gt.jit._overload, gt.jit._overload_method, gt.jit._script_if_tracing)
    for mark in (
        *marks,
        helper.parse_args("v", "f"),
        gt._dynamo.assume_constant_result,
    ):
        assert mark(plain) is plain
    gt.onnx.register_custom_op_symbolic("own::op", plain, 11)
    of(gt, "onnx.utils").unregister_custom_op_symbolic("own::op", 11)


@pytest.mark.parametrize("count", range(1, 4))
def test_types_of_numbers_or_lists_are_nothing(count: int):
    name = f"BroadcastingList{count}"
    assert_same(lambda t: getattr(t.jit.annotations, name)[int])


def test_nothing_is_traced_captured_or_elsewhere():
    def program(t: Any) -> Any:
        proxies = of(t, "fx.experimental.proxy_tensor")
        fakes = of(t, "_subclasses.fake_tensor")
        return (
            t._C._get_tracing_state(),
            t._C._get_default_device(),
            proxies.get_proxy_mode(),
            fakes.is_fake(t.ones(1)),
        )

    assert_same(program)


@pytest.mark.parametrize("kind", ["cpu", "mps"])
def test_what_compile_returns_runs_on(kind: str):
    assert_same(lambda t: of(t, "_dynamo.utils").is_compile_supported(kind))


def test_mapped_tensors_are_indices():
    def program(t: Any) -> Any:
        mode = of(t, "_dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
        rows = t.arange(6.0).view(3, 2)
        with mode():
            return t.vmap(lambda i: rows[i])(t.tensor([2, 0]))

    assert_same(program)


# ---- data and small functions ----


def test_how_tensors_would_lie_on_several_processes():
    def program(t: Any) -> Any:
        kinds = of(t, "distributed.tensor")
        shard, replicate, partial = kinds.Shard, kinds.Replicate, kinds.Partial
        placed = [shard(0), shard(dim=1), replicate(), partial(), partial("avg")]
        facts = [
            (repr(p), str(p), p.is_shard(), p.is_shard(1), p.is_replicate())
            for p in placed
        ]
        partials = [(p.is_partial(), p.is_partial("sum")) for p in placed]
        return (
            facts,
            partials,
            [p == shard(0) for p in placed],
            len({*placed, shard(0)}),
        )

    assert_same(program)


@pytest.mark.parametrize("value", [{"a": 1, "b": (2, 3)}, {}])
def test_dicts_come_apart_by_the_inner_functions(value: dict[str, Any]):
    def program(t: Any) -> Any:
        trees = of(t, "utils._pytree")
        flat, context = trees._dict_flatten(value)
        keyed, _ = trees._dict_flatten_with_keys(value)
        keys = [key.key for key, _ in keyed]
        return flat, context, keys, trees._dict_unflatten(flat, context)

    assert_same(program)


def test_lists_come_apart_by_the_inner_functions():
    def program(t: Any) -> Any:
        trees = of(t, "utils._pytree")
        flat, context = trees._list_flatten([1, [2]])
        keyed, _ = trees._list_flatten_with_keys([1, [2]])
        return flat, [key.idx for key, _ in keyed], trees._list_unflatten(flat, context)

    assert_same(program)


def test_kinds_of_containers():
    def program(t: Any) -> Any:
        kind = of(t, "utils._pytree")._get_node_type
        return [kind(value).__name__ for value in ([], (), {}, 1, "x")]

    assert_same(program)


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (40, 40)])
def test_parts_of_what_is_printed(shape: tuple[int, ...]):
    def program(t: Any) -> Any:
        parts = t._tensor_str
        shown = parts._tensor_str(
            t.arange(1600.0)[: t.Size(shape).numel()].view(shape), 4
        )
        with parts.printoptions(precision=1):
            assert parts.PRINT_OPTS.precision == 1
        facts = ["nnz=3", "of=" + "x" * 60]
        return [parts._add_suffixes(shown, facts, 4, new) for new in (False, True)]

    assert_same(program)


@pytest.mark.parametrize("options", [(False,), (True,), (False, True)])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_whether_steps_are_fused(options: tuple[bool, ...], device: str):
    def program(t: Any) -> Any:
        choose = of(t, "optim.optimizer")._default_to_fused_or_foreach
        lists = [t.ones(1, device=device)], [None], [t.nn.Parameter(t.ones(1)), None]
        integers = [t.ones(1, dtype=t.int64, device=device)]
        return [choose(each, *options) for each in (*lists, integers)]

    assert_same(program)


@pytest.mark.parametrize("xla", [True, False])
def test_devices_whose_graphs_hold_a_step(xla: bool):
    assert_same(
        lambda t: of(t, "optim.optimizer")._get_capturable_supported_devices(xla)
    )


@pytest.mark.parametrize("name", ["relu", "gelu", "silu"])
def test_activations_of_transformers_by_name(name: str):
    def program(t: Any) -> Any:
        find = of(t, "nn.modules.transformer")._get_activation_fn
        return find(name)(t.tensor([-1.0, 2.0]))

    assert_same(program)


def test_reports_of_loading_under_their_inner_names():
    def program(t: Any) -> Any:
        module = of(t, "nn.modules.module")
        found = t.nn.Linear(1, 1).load_state_dict({}, strict=False)
        same = isinstance(found, module._IncompatibleKeys)
        return same, module._EXTRA_STATE_KEY_SUFFIX, t.hub.HASH_REGEX.pattern

    assert_same(program)


def test_the_type_of_tensors_has_a_name():
    assert_same(lambda t: isinstance(t.Tensor, t._C._TensorMeta))


def test_streams_of_the_processor():
    def program(t: Any) -> Any:
        made = t.Stream("cpu")
        return isinstance(made, t.Stream), made.device

    assert_same(program)


def test_streams_of_devices_that_are_absent():
    assert_same(lambda t: t.Stream("cuda"))


@pytest.mark.parametrize(
    "name", ["sparse_bsc", "sparse_bsr", "sparse_csc", "sparse_csr"]
)
def test_layouts_can_be_asked_for_and_not_had(name: str):
    assert_same(lambda t: repr(getattr(t, name)))
    layout, x = getattr(gt, name), gt.ones(1)
    for make in (partial(gt.zeros, 2), partial(gt.empty_like, x), partial(gt.rand, 2)):
        with pytest.raises(RuntimeError, match=f"torch.{name} are not supported here"):
            make(layout=layout)


def test_constants_of_graphs_and_blocks():
    def program(t: Any) -> Any:
        key = of(t, "fx.graph_module")._USER_PRESERVED_ATTRIBUTES_KEY
        return key, of(t, "nn.attention.flex_attention")._DEFAULT_SPARSE_BLOCK_SIZE

    assert_same(program)
