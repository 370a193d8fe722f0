"""The names of things in files: those that PyTorch gives them, whatever ours are."""

from __future__ import annotations

import importlib
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from ..ops.creation.legacy_types import LegacyType
from ..ops.memory.memory_format import memory_format as MemoryFormat
from ..ops.memory.storages import LegacyStorage

_MODULES = {
    "distributions._constraint": "torch.distributions.constraints",
    "distributions._constraint_values": "torch.distributions.constraints",
    "distributions._transform": "torch.distributions.transforms",
    "distributions._transform_parts": "torch.distributions.transforms",
    "distributions._transform_shapes": "torch.distributions.transforms",
    "distributions._transform_values": "torch.distributions.transforms",
    "distributions._transform_vectors": "torch.distributions.transforms",
    "_backend.device": "torch",
    "_dtypes.limits": "torch",
    "_dtypes.table": "torch",
    "_random.generator": "torch._C",
    "_common.handles": "torch.utils.hooks",
    "_modes.grad_mode": "torch.autograd.grad_mode",
    "_tensor.size": "torch",
    "_tensor.tensor": "torch",
    "ops.memory.typed_storage": "torch.storage",
    "ops.memory.untyped_storage": "torch.storage",
    "nn._uninitialized": "torch.nn.parameter",
    "nn.modules._activation": "torch.nn.modules.activation",
    "nn.modules._activation_options": "torch.nn.modules.activation",
    "nn.modules._attention": "torch.nn.modules.activation",
    "nn.modules._backward_hook": "torch.utils.hooks",
    "nn.modules._batchnorm": "torch.nn.modules.batchnorm",
    "nn.modules._container": "torch.nn.modules.container",
    "nn.modules._conv": "torch.nn.modules.conv",
    "nn.modules._conv_transpose": "torch.nn.modules.conv",
    "nn.modules._dropout": "torch.nn.modules.dropout",
    "nn.modules._linear": "torch.nn.modules.linear",
    "nn.modules._loss": "torch.nn.modules.loss",
    "nn.modules._loss_classes": "torch.nn.modules.loss",
    "nn.modules._loss_ctc": "torch.nn.modules.loss",
    "nn.modules._loss_pairs": "torch.nn.modules.loss",
    "nn.modules._module": "torch.nn.modules.module",
    "nn.modules._norm": "torch.nn.modules.normalization",
    "nn.modules._pad": "torch.nn.modules.padding",
    "nn.modules._parameter_containers": "torch.nn.modules.container",
    "nn.modules._pool": "torch.nn.modules.pooling",
    "nn.modules._pool_adaptive": "torch.nn.modules.pooling",
    "nn.modules._pool_fractional": "torch.nn.modules.pooling",
    "nn.modules._rnn_base": "torch.nn.modules.rnn",
    "nn.modules._rnn_cells": "torch.nn.modules.rnn",
    "nn.modules._sparse": "torch.nn.modules.sparse",
    "nn.modules._transformer_layers": "torch.nn.modules.transformer",
    "nn.utils._orthogonal": "torch.nn.utils.parametrizations",
    "nn.utils._parametrization_list": "torch.nn.utils.parametrize",
    "nn.utils._prune_methods": "torch.nn.utils.prune",
    "nn.utils._pruning": "torch.nn.utils.prune",
    "ops.memory.memory_format": "torch",
    "ops.memory.pickling": "torch._utils",
}
"""Where PyTorch keeps what our private modules hold."""

_CLASSES = {
    "ChannelShuffle": "torch.nn.modules.channelshuffle",
    "CosineSimilarity": "torch.nn.modules.distance",
    "Flatten": "torch.nn.modules.flatten",
    "Fold": "torch.nn.modules.fold",
    "InstanceNorm1d": "torch.nn.modules.instancenorm",
    "InstanceNorm2d": "torch.nn.modules.instancenorm",
    "InstanceNorm3d": "torch.nn.modules.instancenorm",
    "LazyBatchNorm1d": "torch.nn.modules.batchnorm",
    "LazyBatchNorm2d": "torch.nn.modules.batchnorm",
    "LazyBatchNorm3d": "torch.nn.modules.batchnorm",
    "LazyConv1d": "torch.nn.modules.conv",
    "LazyConv2d": "torch.nn.modules.conv",
    "LazyConv3d": "torch.nn.modules.conv",
    "LazyConvTranspose1d": "torch.nn.modules.conv",
    "LazyConvTranspose2d": "torch.nn.modules.conv",
    "LazyConvTranspose3d": "torch.nn.modules.conv",
    "LazyInstanceNorm1d": "torch.nn.modules.instancenorm",
    "LazyInstanceNorm2d": "torch.nn.modules.instancenorm",
    "LazyInstanceNorm3d": "torch.nn.modules.instancenorm",
    "LazyLinear": "torch.nn.modules.linear",
    "NonDynamicallyQuantizableLinear": "torch.nn.modules.linear",
    "PairwiseDistance": "torch.nn.modules.distance",
    "PixelShuffle": "torch.nn.modules.pixelshuffle",
    "PixelUnshuffle": "torch.nn.modules.pixelshuffle",
    "Unflatten": "torch.nn.modules.flatten",
    "Unfold": "torch.nn.modules.fold",
    "_rebuild_from_type_v2": "torch._tensor",
    "_get_layout": "torch.serialization",
}
"""Exceptions, by the name of the class or function."""

_RENAMED = {
    "IncompatibleKeys": ("torch.nn.modules.module", "_IncompatibleKeys"),
    "WrappedHook": ("torch.nn.modules.module", "_WrappedHook"),
}
"""What has another name of its own in PyTorch."""

_OURS = {theirs: f"nn.modules._state_types.{ours}" for ours, theirs in _RENAMED.items()}

_LEAVES = (
    "torch.distributions",
    "torch.nn.modules",
    "torch.nn.utils",
    "torch.optim",
    "torch.utils",
)
"""Packages whose names may be sorted into other files here than in PyTorch."""


def name_in_file(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Return the module and name that stand for one of our objects in a file.

    None for what is not ours, or is not a name of a module.
    """
    if isinstance(obj, DType | MemoryFormat):
        return "torch", repr(obj).removeprefix("torch.")
    if isinstance(obj, LegacyStorage | LegacyType):
        return "torch", obj.__name__
    module = getattr(obj, "__module__", None)
    if module is None and FUNCTIONS.get(getattr(obj, "__name__", "")) is obj:
        return "torch", obj.__name__
    if _functional(obj):
        return "torch.nn.functional", obj.__name__
    found = name or getattr(obj, "__qualname__", None)
    if type(module) is not str or type(found) is not str or "<" in found:
        return None
    return torch_name(module, found)


def _functional(obj: Any) -> bool:
    """Tell whether an object is a function that nn.functional takes from the ops."""
    from ..nn import functional

    shown = getattr(obj, "__name__", None)
    return type(shown) is str and getattr(functional, shown, None) is obj


def torch_name(module: str, name: str) -> tuple[str, str] | None:
    """Return PyTorch's module and name for one of ours; None where it is not ours.

    >>> torch_name("gradtape.nn.modules._linear", "Linear")
    ('torch.nn.modules.linear', 'Linear')
    """
    package, _, rest = module.partition(".")
    if package != "gradtape":
        return None
    if name in _RENAMED:
        return _RENAMED[name]
    exception = _CLASSES.get(name)
    if exception is not None:
        return exception, name
    known = _MODULES.get(rest)
    if known is not None:
        return known, name
    parts = rest.split(".") if rest else []
    while parts and parts[-1].startswith("_") and parts[-1] not in ("_C", "_utils"):
        parts.pop()
    return ".".join(["torch", *parts]), name


def find(module: str, name: str) -> Any:
    """Return what a name in a file stands for here.

    Raises ModuleNotFoundError or AttributeError where there is no such thing.
    """
    if module.partition(".")[0] != "torch":
        return _attribute(module, name)
    if name.startswith("_VariableFunctions"):  # PyTorch's home of torch.relu and such
        return importlib.import_module("gradtape")
    if name == "_rebuild_from_type_v2":
        module = "torch._utils"
    if module == "torch._C._nn":
        module = "torch.nn.functional"
    if (module, name) in _OURS:
        return _attribute("gradtape", _OURS[module, name])
    package = module.rpartition(".")[0]
    try:
        return _attribute("gradtape" + module[5:], name)
    except (ModuleNotFoundError, AttributeError):
        if package not in _LEAVES and package != "torch":
            raise
    return _attribute("gradtape" + package[5:], name)


def _attribute(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
