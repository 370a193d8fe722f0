"""gradtape: PyTorch's tensors and autograd in Python, on NumPy and CuPy."""

import sys as _sys
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any as _Any

from . import _C as _C
from . import _VF as _VF
from . import __config__ as __config__
from . import __future__ as __future__
from . import _custom_op as _custom_op
from . import _dynamo as _dynamo
from . import _tensor_str as _tensor_str
from . import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import random as random
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from ._backend.device import device as device
from ._backend.device import set_default_device as set_default_device
from ._common.mirrors import import_mirrors as _import_mirrors
from ._common.refusals import refused_names as _refused_names
from ._common.warn import is_warn_always_enabled as is_warn_always_enabled
from ._common.warn import set_warn_always as set_warn_always
from ._dtypes import bfloat16 as bfloat16
from ._dtypes import bool_ as _bool
from ._dtypes import can_cast as can_cast
from ._dtypes import complex32 as complex32
from ._dtypes import complex64 as complex64
from ._dtypes import complex128 as complex128
from ._dtypes import dtype as dtype
from ._dtypes import finfo as finfo
from ._dtypes import float8_e4m3fn as float8_e4m3fn
from ._dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from ._dtypes import float8_e5m2 as float8_e5m2
from ._dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from ._dtypes import float8_e8m0fnu as float8_e8m0fnu
from ._dtypes import float16 as float16
from ._dtypes import float32 as float32
from ._dtypes import float64 as float64
from ._dtypes import get_default_dtype as get_default_dtype
from ._dtypes import iinfo as iinfo
from ._dtypes import int8 as int8
from ._dtypes import int16 as int16
from ._dtypes import int32 as int32
from ._dtypes import int64 as int64
from ._dtypes import promote_types as promote_types
from ._dtypes import set_default_dtype as set_default_dtype
from ._dtypes import uint8 as uint8
from ._dtypes import uint16 as uint16
from ._dtypes import uint32 as uint32
from ._dtypes import uint64 as uint64
from ._graph.observe import observe as observe
from ._graph.registry import FUNCTIONS as _FUNCTIONS
from ._graph.registry import MODULES as _MODULES
from ._library.tags import Tag as Tag
from ._modes.grad_mode import enable_grad as enable_grad
from ._modes.grad_mode import inference_mode as inference_mode
from ._modes.grad_mode import is_grad_enabled as is_grad_enabled
from ._modes.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from ._modes.grad_mode import no_grad as no_grad
from ._modes.grad_mode import set_grad_enabled as set_grad_enabled
from ._random.generator import Generator as Generator
from ._random.generator import default_generator as default_generator
from ._streambase import Stream as Stream
from ._tensor.overlap import OverlapWarning as OverlapWarning
from ._tensor.printing import set_printoptions as set_printoptions
from ._tensor.size import Size as Size
from ._tensor.tensor import Tensor as Tensor
from .amp import GradScaler as GradScaler
from .amp import autocast as autocast
from .autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .cuda import AcceleratorError as AcceleratorError
from .cuda import OutOfMemoryError as OutOfMemoryError
from .func import vmap as vmap
from .futures import Future as Future
from .jit import ScriptModule as ScriptModule
from .ops.memory.memory_format import _mkldnn as _mkldnn
from .ops.memory.memory_format import channels_last as channels_last
from .ops.memory.memory_format import channels_last_3d as channels_last_3d
from .ops.memory.memory_format import contiguous_format as contiguous_format
from .ops.memory.memory_format import layout as layout
from .ops.memory.memory_format import memory_format as memory_format
from .ops.memory.memory_format import preserve_format as preserve_format
from .ops.memory.memory_format import sparse_bsc as sparse_bsc
from .ops.memory.memory_format import sparse_bsr as sparse_bsr
from .ops.memory.memory_format import sparse_coo as sparse_coo
from .ops.memory.memory_format import sparse_csc as sparse_csc
from .ops.memory.memory_format import sparse_csr as sparse_csr
from .ops.memory.memory_format import strided as strided
from .ops.memory.typed_storage import TypedStorage as TypedStorage
from .ops.memory.untyped_storage import UntypedStorage as UntypedStorage
from .ops.tensor.symbolic_numbers import SymBool as SymBool
from .ops.tensor.symbolic_numbers import SymFloat as SymFloat
from .ops.tensor.symbolic_numbers import SymInt as SymInt
from .overrides._guard import part_methods as _part_methods
from .overrides._guard import part_names as _part_names
from .serialization import load as load
from .serialization import save as save
from .serialization._records import PyTorchFileReader as PyTorchFileReader
from .serialization._records import PyTorchFileWriter as PyTorchFileWriter
from .version import __version__ as __version__

bool = _bool
cdouble = complex128
cfloat = complex64
chalf = complex32
double = float64
float = float32
half = float16
int = int32
long = int64
newaxis = None
short = int16
TensorType = _C.TensorType
torch = _sys.modules[__name__]  # as PyTorch's module is called in itself

# Every declared op and composed function, under PyTorch's name.
_MODULES.update(
    {
        "": torch,
        ".autograd": autograd,
        ".fft": fft,
        ".functional": functional,
        ".linalg": linalg,
        ".nn.functional": nn.functional,
        ".nn.init": nn.init,
        ".special": special,
    }
)
_part_names()
_part_methods()
globals().update(_FUNCTIONS)
_import_mirrors(__name__)
globals().update(_refused_names(""))

globals().update({k: v for k, v in _C._builds.PARTS.items() if k[0] != "_"})


def __getattr__(name: str) -> _Any:
    return _C._builds.older(name)
