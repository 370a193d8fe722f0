"""Where plain pickles of earlier versions find the modules that have moved since.

A pickle names the file that held a class when it was written. Files of ``torch.save``
need no help: they hold PyTorch's names. What the table names is looked for only after
no such module was found, so nothing is imported, and nothing slower, without such a
pickle.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from .. import _tensor
from .._tensor.tensor import Tensor

_ROOT = (
    "_autocast_switches _determinism _device _dtype_limits _dtype_promotion "
    "_inference _lobpcg _overlap _print_options _random_sample _settings _size "
    "_strided _swap _tags _warn"
)

_LAYERS = (
    "_activation _activation_options _attention _backward_hook _batchnorm "
    "_batchnorm_sync _container _conv _conv_transpose _data_parallel _distance "
    "_dropout _lazy_layers _linear _loss _loss_classes _loss_ctc _loss_pairs "
    "_module _norm _older _pad _parameter_containers _pool _pool_adaptive "
    "_pool_fractional _rnn_base _rnn_cells _sparse _state_types _transformer_layers "
)

_OPS = (
    "activation activation_cut activation_pieces activation_smooth "
    "arithmetic assertions attention broadcast buffers build compare conjugate "
    "convert copies counting create ctc differences division dlpack einsum "
    "elementwise embedding embedding_bag exponential extremes files foreach "
    "fourier_bins fourier_many fourier_one fused gather grid_sample grids "
    "index_reduce index_write inplace_views integer_mm join like linalg_cholesky "
    "linalg_det linalg_distance linalg_eig linalg_householder linalg_ldl "
    "linalg_lstsq linalg_lu linalg_lu_solve linalg_norm linalg_power "
    "linalg_products linalg_qr linalg_rank linalg_solve linalg_statistics "
    "linalg_svd linalg_triangular linalg_vectors linear low_rank mantissa masked "
    "matmul mixing movement native norm norms order packing parts pieces positions "
    "power products quantiles queries random random_gamma random_sample rank_one "
    "recurrent reduce reduce_extremes reduce_logic reinterpret removed replaced "
    "rounding scan scatter scatter_reduce search segments sequences softmax sorting "
    "sparse_create sparse_math special special_gamma special_normal spectrogram "
    "statistics storages symbolic triangles trigonometric unique "
    "weight_norm window_functions write "
)


def _homes_of_ops(family: str) -> tuple[str, ...]:
    """Return the public modules that hold the functions of a family of ops."""
    kind = family.partition("_")[0]
    first = {"linalg": "linalg", "fourier": "fft", "special": "special"}.get(kind)
    rest = ("gradtape", "gradtape.nn.functional", "gradtape.linalg")
    return (f"gradtape.{first}", *rest) if first else rest


_HOMES = {
    **{f"gradtape.{room}": ("gradtape", "gradtape.utils") for room in _ROOT.split()},
    **{f"gradtape.ops.{family}": _homes_of_ops(family) for family in _OPS.split()},
    "gradtape._generator": ("gradtape._C",),
    "gradtape._hooks": ("gradtape.utils.hooks",),
    "gradtape._mode": ("gradtape.autograd.grad_mode", "gradtape"),
    "gradtape._function_ask": ("gradtape.overrides",),
    "gradtape._op_library": ("gradtape.library",),
    "gradtape._opcheck": ("gradtape.library",),
    "gradtape._schema_infer": ("gradtape.library",),
    "gradtape._user_ops": ("gradtape.library",),
    "gradtape.autograd._profiler_config": ("gradtape.autograd", "gradtape.profiler"),
    "gradtape.autograd._profiler_events": ("gradtape.autograd", "gradtape.profiler"),
    "gradtape.autograd._record_function": ("gradtape.profiler", "gradtape.autograd"),
    "gradtape._typed_storage": ("gradtape.ops.memory.typed_storage",),
    "gradtape._untyped_storage": ("gradtape.ops.memory.untyped_storage",),
    "gradtape.distributions._constraint": ("gradtape.distributions.constraints",),
    "gradtape.distributions._constraint_values": (
        "gradtape.distributions.constraints",
    ),
    "gradtape.distributions._transform": ("gradtape.distributions.transforms",),
    "gradtape.distributions._transform_parts": ("gradtape.distributions.transforms",),
    "gradtape.distributions._transform_shapes": ("gradtape.distributions.transforms",),
    "gradtape.distributions._transform_values": ("gradtape.distributions.transforms",),
    "gradtape.distributions._transform_vectors": ("gradtape.distributions.transforms",),
    **{
        f"gradtape.func.{part}": ("gradtape.func",)
        for part in ("_forward", "_mutations")
    },
    "gradtape.nn._uninitialized": ("gradtape.nn.parameter",),
    **{
        f"gradtape.nn.modules.{layer}": (
            "gradtape.nn",
            "gradtape.nn.modules.batchnorm",
            "gradtape.nn.modules.linear",
            "gradtape.nn.modules.module",
            "gradtape.utils.hooks",
        )
        for layer in _LAYERS.split()
    },
    "gradtape.nn.utils._orthogonal": ("gradtape.nn.utils.parametrizations",),
    "gradtape.nn.utils._parametrization_list": ("gradtape.nn.utils.parametrize",),
    "gradtape.nn.utils._prune_methods": ("gradtape.nn.utils.prune",),
    "gradtape.nn.utils._pruning": ("gradtape.nn.utils.prune",),
    "gradtape.ops.formats": ("gradtape", "gradtape.serialization"),
    "gradtape.ops.rebuild": ("gradtape._utils",),
    "gradtape.optim._averages": ("gradtape.optim.swa_utils",),
    **{
        f"gradtape.optim.lr_scheduler.{part}": ("gradtape.optim.lr_scheduler",)
        for part in ("_cosine", "_functions", "_one_cycle", "_plateau", "_ramps")
    },
    "gradtape.profiler._schedule": ("gradtape.profiler",),
    "gradtape.utils._pytree_nodes": ("gradtape.utils._pytree",),
    "gradtape.utils.benchmark._measurement": ("gradtape.utils.benchmark",),
}
"""The modules of now that hold, between them, what one of then held."""

_RENAMED = {
    "IncompatibleKeys": "_IncompatibleKeys",
    "WrappedHook": "_WrappedHook",
    "log_sigmoid": "logsigmoid",
}


class _MovedModules(MetaPathFinder, Loader):
    """Makes a module that hands on what its successors hold."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return how to make a module of the table; None for any other."""
        return spec_from_loader(fullname, self) if fullname in _HOMES else None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look things up when they are asked for."""

        def look_up(name: str) -> Any:
            now = _RENAMED.get(name, name)
            for home in _HOMES[module.__name__]:
                held = vars(importlib.import_module(home))
                if now in held:
                    return held[now]
            raise AttributeError(f"module '{module.__name__}' has no '{name}'")

        module.__dict__["__getattr__"] = look_up


sys.meta_path.append(_MovedModules())
_tensor.__dict__["Tensor"] = Tensor  # the room has the name of the file that held it
