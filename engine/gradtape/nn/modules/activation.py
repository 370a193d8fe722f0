"""Activations and attention, under the name of PyTorch's file."""

from __future__ import annotations

from ._activation import CELU as CELU
from ._activation import ELU as ELU
from ._activation import SELU as SELU
from ._activation import Hardsigmoid as Hardsigmoid
from ._activation import Hardswish as Hardswish
from ._activation import Hardtanh as Hardtanh
from ._activation import LeakyReLU as LeakyReLU
from ._activation import LogSigmoid as LogSigmoid
from ._activation import Mish as Mish
from ._activation import ReLU as ReLU
from ._activation import ReLU6 as ReLU6
from ._activation import RReLU as RReLU
from ._activation import Sigmoid as Sigmoid
from ._activation import SiLU as SiLU
from ._activation import Softsign as Softsign
from ._activation import Tanh as Tanh
from ._activation import Tanhshrink as Tanhshrink
from ._activation import Threshold as Threshold
from ._activation_options import GELU as GELU
from ._activation_options import GLU as GLU
from ._activation_options import Hardshrink as Hardshrink
from ._activation_options import LogSoftmax as LogSoftmax
from ._activation_options import PReLU as PReLU
from ._activation_options import Softmax as Softmax
from ._activation_options import Softmax2d as Softmax2d
from ._activation_options import Softmin as Softmin
from ._activation_options import Softplus as Softplus
from ._activation_options import Softshrink as Softshrink
from ._attention import MultiheadAttention as MultiheadAttention
