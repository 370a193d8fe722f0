"""What is out of reach: which names refuse, in which sentence, and what to use instead.

The names exist, so that programs can import them; using one raises
:class:`OutOfReachError`. ``docs/out-of-reach.md`` lists them all.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple, NoReturn


class OutOfReachError(NotImplementedError):
    """Something that PyTorch has and this package never will."""


class Topic(NamedTuple):
    """Names that are refused for one reason."""

    names: str  # under ``gradtape.``, apart by spaces
    why: str
    instead: str


TOPICS: Final = (
    Topic(
        "jit.load jit.save jit.freeze jit.optimize_for_inference jit.ScriptFunction "
        "jit.CompilationUnit _C.TensorType _C.Graph _C.Value",
        "there is no TorchScript",
        "call the function or module itself, and torch.onnx.export to hand it on",
    ),
    Topic(
        "onnx.symbolic_opset11.select onnx.symbolic_opset11.squeeze "
        "onnx.symbolic_opset11.unsqueeze",
        "the exporter records calls and traces no TorchScript",
        "the custom_translation_table of torch.onnx.export",
    ),
    Topic(
        "fx.symbolic_trace fx.Tracer fx.Graph fx.GraphModule fx.Interpreter "
        "fx.Transformer fx.Node fx.Proxy fx.replace_pattern fx.map_arg "
        "fx.proxy.GraphAppendingTracer fx.graph_module._CodeOnlyModule "
        "fx.graph_module._copy_attr",
        "modules are not rewritten",
        "forward hooks, or gradviz to look at the recorded graph",
    ),
    Topic(
        "nn.attention.flex_attention.flex_attention "
        "nn.attention.flex_attention.AuxRequest nn.attention.flex_attention.BlockMask "
        "nn.attention.flex_attention.create_block_mask "
        "nn.attention.flex_attention.create_mask",
        "attention is not generated from functions of scores",
        "torch.nn.functional.scaled_dot_product_attention with a mask",
    ),
    Topic(
        "_higher_order_ops.associative_scan.associative_scan",
        "loops are not compiled",
        "torch.cumsum and its like, or the loop itself",
    ),
    Topic(
        "_dynamo.OptimizedModule",
        "torch.compile returns the module that it was given",
        "the module itself",
    ),
    Topic(
        "_subclasses.fake_tensor.FakeTensor _subclasses.fake_tensor.FakeTensorMode",
        "programs are not captured",
        "tensors on the meta device",
    ),
    Topic(
        "export.export export.load export.save export.ExportedProgram export.Dim",
        "programs are not captured",
        "torch.onnx.export",
    ),
    Topic(
        "quantization.quantize quantization.quantize_dynamic quantization.prepare "
        "quantization.prepare_qat quantization.convert quantization.QuantStub "
        "quantization.DeQuantStub quantization.get_default_qconfig "
        "quantization.get_default_qat_qconfig quantization.fuse_modules",
        "there are no quantized tensors",
        "half() or bfloat16(), or quantise the file that torch.onnx.export writes",
    ),
    Topic(
        "hub.load hub.list hub.help",
        "no code is downloaded",
        "an import of the code, and hub.load_state_dict_from_url for its weights",
    ),
    Topic(
        "package.PackageExporter package.PackageImporter",
        "code is not packed into files",
        "torch.save on a state_dict, and an import of the code",
    ),
    Topic(
        "library.triton_op",
        "kernels are not compiled for the device",
        "torch.library.custom_op, or a plain function of tensors",
    ),
    Topic(
        "_custom_ops.get_ctx _custom_op.impl.custom_op _custom_op.impl.get_ctx "
        "_C._ExcludeDispatchKeyGuard",
        "there is no dispatcher of PyTorch's",
        "torch.library.custom_op, or a plain function of tensors",
    ),
    Topic(
        "utils.cpp_extension.load utils.cpp_extension.load_inline "
        "utils.cpp_extension.CppExtension utils.cpp_extension.CUDAExtension "
        "utils.cpp_extension.BuildExtension",
        "extensions are built against PyTorch's C++",
        "a torch.autograd.Function written with NumPy or CuPy",
    ),
    Topic(
        "cuda.CUDAGraph cuda.graph cuda.make_graphed_callables",
        "calls are not recorded for the device",
        "the function itself",
    ),
    Topic(
        "cuda.MemPool cuda.CUDAPluggableAllocator cuda.memory_snapshot",
        "CuPy's memory pool serves the devices",
        "cupy.cuda.set_allocator",
    ),
    Topic(
        "cuda.utilization cuda.temperature cuda.power_draw cuda.clock_rate "
        "cuda.memory_usage cuda.list_gpu_processes",
        "the driver is not asked about load",
        "nvidia-smi, or the library nvidia-ml-py",
    ),
    Topic(
        "distributed.rpc.init_rpc distributed.rpc.rpc_sync distributed.rpc.rpc_async "
        "distributed.rpc.remote distributed.rpc.shutdown",
        "processes do not call each other's functions",
        "the collectives of torch.distributed",
    ),
    Topic(
        "distributed.fsdp.FullyShardedDataParallel distributed.fsdp.fully_shard "
        "distributed.fsdp.FSDPModule distributed.fsdp.BackwardPrefetch "
        "distributed.fsdp.CPUOffload distributed.fsdp.CPUOffloadPolicy "
        "distributed.fsdp.MixedPrecision distributed.fsdp.MixedPrecisionPolicy "
        "distributed.fsdp.ShardingStrategy distributed.fsdp.StateDictType "
        "distributed.fsdp.sharded_grad_scaler.ShardedGradScaler "
        "distributed.fsdp.wrap.ModuleWrapPolicy "
        "distributed.fsdp.wrap.transformer_auto_wrap_policy "
        "distributed.optim.ZeroRedundancyOptimizer "
        "distributed.DeviceMesh distributed.init_device_mesh "
        "distributed.tensor.DTensor "
        "distributed.tensor.distribute_module distributed.tensor.distribute_tensor "
        "distributed.tensor.placement_types._StridedShard "
        "distributed.tensor._utils.compute_local_shape_and_global_offset "
        "distributed._functional_collectives.all_to_all_single_autograd "
        "distributed._functional_collectives.wait_tensor",
        "every process holds the whole model",
        "torch.nn.parallel.DistributedDataParallel, and new_group for parts",
    ),
    Topic(
        "distributed.checkpoint.load distributed.checkpoint.save "
        "distributed.checkpoint.FileSystemReader "
        "distributed.checkpoint.FileSystemWriter "
        "distributed.checkpoint.HuggingFaceStorageReader "
        "distributed.checkpoint.HuggingFaceStorageWriter",
        "no process holds a part of the model alone",
        "torch.save in one of them, or the library safetensors",
    ),
    Topic(
        "distributed.algorithms.join.Join distributed.algorithms.join.Joinable "
        "distributed.algorithms.join.JoinHook",
        "no process stands in for one that has run out of batches",
        "a DistributedSampler, which gives all of them as many",
    ),
    Topic(
        "lobpcg",
        "no program of a notebook asks for a few eigenpairs of a huge matrix",
        "torch.linalg.eigh, or scipy.sparse.linalg.lobpcg",
    ),
    Topic(
        "quasirandom.SobolEngine",
        "gradients are recorded of random numbers alone",
        "scipy.stats.qmc.Sobol",
    ),
    Topic(
        "utils.flop_counter.FlopCounterMode utils.flop_counter.register_flop_formula",
        "calls are counted where they are recorded",
        "torch.profiler.profile with with_flops=True",
    ),
    Topic(
        "utils.module_tracker.ModuleTracker",
        "each recorded op names the modules that it ran in",
        "forward hooks, or gradviz to look at the recorded graph",
    ),
    Topic(
        "utils.weak.WeakTensorKeyDictionary utils.weak.WeakIdKeyDictionary "
        "utils.weak.WeakIdRef utils.weak.TensorWeakRef",
        "tensors can be held weakly as any object",
        "weakref.ref, and a dict of them by id",
    ),
    Topic(
        "utils.collect_env.get_env_info utils.collect_env.get_pretty_env_info "
        "utils.collect_env.main",
        "reports of bugs need no list of PyTorch's builds",
        "torch.__config__.show",
    ),
    Topic(
        "utils.tensorboard.SummaryWriter.add_graph "
        "utils.tensorboard.SummaryWriter.add_onnx_graph",
        "what they draw is traced TorchScript or ONNX",
        "gradviz, which draws the recorded graph",
    ),
    Topic(
        "utils.tensorboard.SummaryWriter.add_embedding "
        "utils.tensorboard.SummaryWriter.add_mesh "
        "utils.tensorboard.SummaryWriter.add_video",
        "these plugins are not written for",
        "add_image or add_figure, or the library tensorboardX",
    ),
)
"""By reason."""

_TOPIC_OF: Final = {name: topic for topic in TOPICS for name in topic.names.split()}


def sentence(name: str) -> str:
    """Return what using ``gradtape.<name>`` is answered with.

    >>> from gradtape._common.refusals import sentence
    >>> print(sentence("hub.load"))
    torch.hub.load is out of reach of gradtape, because no code is downloaded; \
use an import of the code, and hub.load_state_dict_from_url for its weights.
    """
    topic = _TOPIC_OF[name]
    return (
        f"torch.{name} is out of reach of gradtape, because {topic.why}; use "
        f"{topic.instead}."
    )


class _RefusedType(type):
    """The type of classes without instances; those that inherit have none either."""

    refusal: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise OutOfReachError(cls.refusal)


@functools.cache
def refused(name: str) -> Any:
    """Return what stands for ``gradtape.<name>``: it can be named, but not used.

    A name with a capital is a class, of which nothing is an instance.
    """
    said, short = sentence(name), name.rpartition(".")[2]
    home = f"torch.{name.rpartition('.')[0]}".rstrip(".")
    if short.lstrip("_")[0].isupper():
        space = {"refusal": said, "__doc__": said, "__module__": home}
        return _RefusedType(short, (), space)

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise OutOfReachError(said)

    refuse.__name__ = refuse.__qualname__ = short
    refuse.__module__, refuse.__doc__ = home, said
    return refuse


def refused_names(module: str) -> dict[str, Any]:
    """Return all refused names of ``gradtape.<module>``, for its namespace."""
    return {
        name.rpartition(".")[2]: refused(name)
        for name in _TOPIC_OF
        if name.rpartition(".")[0] == module
    }
