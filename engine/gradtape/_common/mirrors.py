"""Modules under PyTorch's paths that hold nothing of ours: rows of one table.

Each is made when it is imported. It holds the names that are refused there
(:mod:`gradtape._common.refusals`) and those of its row: answers about devices and
libraries that there are none of.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from .absent import no, nothing, refusing, same, yes, zero
from .refusals import refused, refused_names


def _without_mps(name: str) -> Any:
    return refusing(RuntimeError, f"Cannot execute {name}() without MPS backend.")


def _without_mtia(name: str) -> Any:
    return refusing(RuntimeError, f"Cannot execute {name}() without MTIA backend.")


def _is_macos_or_newer(major: int, minor: int) -> Any:
    return _without_mps("isOnMacOSorNewer")()


def _is_macos13_or_newer(minor: int = 0) -> Any:
    return _is_macos_or_newer(13, minor)


def _refused_at(home: str, *names: str) -> dict[str, Any]:
    return {name: refused(f"{home}.{name}") for name in names}


_no_xpu = refusing(AssertionError, "Torch not compiled with XPU enabled")

_FSDP: Final = "distributed.fsdp"
_CHECKPOINT: Final = "distributed.checkpoint"
_QUANTIZATION: Final = refused_names("quantization")

MIRRORS: Final[dict[str, dict[str, Any]]] = {
    "_custom_ops": {},
    "_dynamo.eval_frame": _refused_at("_dynamo", "OptimizedModule"),
    "_higher_order_ops": {},
    "_higher_order_ops.associative_scan": {},
    "_subclasses": refused_names("_subclasses.fake_tensor"),
    "_subclasses.fake_tensor": {"is_fake": no},
    "ao": {},
    "ao.quantization": _QUANTIZATION,
    "backends.cusparselt": {
        "is_available": no,
        "version": nothing,
        "get_max_alg_id": nothing,
    },
    "backends.kleidiai": {"is_available": no},
    "backends.miopen": {"immediate": False},
    "backends.mps": {
        "is_available": no,
        "is_built": no,
        "is_macos_or_newer": _is_macos_or_newer,
        "is_macos13_or_newer": _is_macos13_or_newer,
        "get_name": _without_mps("getName"),
        "get_core_count": _without_mps("getCoreCount"),
    },
    "backends.openmp": {"is_available": yes},
    "backends.quantized": {"engine": "none", "supported_engines": ["none"]},
    "distributed._composable": {},
    "distributed._composable.fsdp": _refused_at(_FSDP, "FSDPModule", "fully_shard"),
    "distributed._functional_collectives": {},
    "distributed._tensor": _refused_at("distributed.tensor", "DTensor"),
    "distributed.algorithms": {},
    "distributed.algorithms.join": {},
    "distributed.checkpoint": {},
    "distributed.checkpoint.hf_storage": _refused_at(
        _CHECKPOINT, "HuggingFaceStorageReader", "HuggingFaceStorageWriter"
    ),
    "distributed.device_mesh": _refused_at(
        "distributed", "DeviceMesh", "init_device_mesh"
    ),
    "distributed.fsdp": {},
    "distributed.fsdp.fully_sharded_data_parallel": _refused_at(
        _FSDP,
        *("BackwardPrefetch", "CPUOffload", "FullyShardedDataParallel"),
        *("MixedPrecision", "ShardingStrategy", "StateDictType"),
    ),
    "distributed.fsdp.sharded_grad_scaler": {},
    "distributed.fsdp.wrap": {},
    "distributed.optim": {},
    "distributed.rpc": {"is_available": no},
    "distributed.tensor._utils": {},
    "export": {},
    "fx": {"wrap": same},
    "fx.experimental": {},
    "fx.experimental.proxy_tensor": {"get_proxy_mode": nothing},
    "fx.graph_module": {
        **_refused_at("fx", "GraphModule"),
        "_USER_PRESERVED_ATTRIBUTES_KEY": "_user_preserved_attributes",
    },
    "fx.node": {
        **_refused_at("fx", "Node", "map_arg"),
        "Target": Any,
        "Argument": Any,
    },
    "fx.proxy": _refused_at("fx", "Proxy"),
    "mps": {
        "is_available": no,
        "device_count": zero,
        "manual_seed": nothing,
        "synchronize": _without_mps("deviceSynchronize"),
        "empty_cache": _without_mps("emptyCache"),
        "current_allocated_memory": _without_mps("getCurrentAllocatedMemory"),
        "driver_allocated_memory": _without_mps("getDriverAllocatedMemory"),
        "recommended_max_memory": _without_mps("getRecommendedMaxMemory"),
        "set_per_process_memory_fraction": _without_mps("setMemoryFraction"),
        **dict.fromkeys(
            ("seed", "get_rng_state", "set_rng_state"),
            _without_mps("getDefaultGenerator"),
        ),
    },
    "mtia": {
        **dict.fromkeys(("is_available", "is_initialized"), no),
        **dict.fromkeys(("device_count", "memory_allocated"), zero),
        **dict.fromkeys(("manual_seed", "manual_seed_all"), nothing),
        **dict.fromkeys(
            ("synchronize", "current_device"), _without_mtia("getCurrentDevice")
        ),
        "empty_cache": _without_mtia("emptyCache"),
    },
    "package": {},
    "quantization": {},
    "quasirandom": {},
    "utils.collect_env": {},
    "utils.cpp_extension": {},
    "utils.flop_counter": {},
    "utils.module_tracker": {},
    "utils.weak": {},
    "xpu": {
        **dict.fromkeys(("is_available", "is_initialized", "is_bf16_supported"), no),
        **dict.fromkeys(("device_count", "memory_allocated", "memory_reserved"), zero),
        **dict.fromkeys(("max_memory_allocated", "max_memory_reserved"), zero),
        **dict.fromkeys(
            ("manual_seed", "manual_seed_all", "seed", "seed_all"), nothing
        ),
        **dict.fromkeys(("seed_all", "empty_cache"), nothing),
        **dict.fromkeys(("init", "current_device", "current_stream"), _no_xpu),
        **dict.fromkeys(("get_device_capability", "get_device_name"), _no_xpu),
        **dict.fromkeys(("get_device_properties", "get_rng_state"), _no_xpu),
        **dict.fromkeys(("initial_seed", "synchronize"), _no_xpu),
    },
}
"""What each module holds, by its path, beside what is refused at that path."""

_PACKAGE: Final = __name__.partition(".")[0]


class _Finder(MetaPathFinder, Loader):
    """Finds and makes the modules of the table, where no file is found."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return how to make a module, or None for one of others."""
        package, _, name = fullname.partition(".")
        if package != _PACKAGE or name not in MIRRORS:
            return None
        return ModuleSpec(fullname, self, is_package=bool(_parts(name)))

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None: an ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module, and import those inside it."""
        name = module.__name__.partition(".")[2]
        module.__doc__ = f"{module.__name__}: see docs/out-of-reach.md."
        module.__dict__.update(refused_names(name) | MIRRORS[name])
        import_mirrors(module.__name__)


def _parts(parent: str) -> list[str]:
    return [name for name in MIRRORS if name.rpartition(".")[0] == parent]


def import_mirrors(package: str) -> None:
    """Import the modules of the table that lie directly in a package of ours."""
    for name in _parts(package.partition(".")[2]):
        importlib.import_module(f"{_PACKAGE}.{name}")


sys.meta_path.append(_Finder())
