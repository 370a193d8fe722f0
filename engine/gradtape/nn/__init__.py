"""Modules, parameters and functions to build networks with: ``torch.nn``."""

from __future__ import annotations

from . import _reduction as _reduction
from . import attention as attention
from . import common_types as common_types
from . import functional as functional
from . import grad as grad
from . import init as init
from . import parallel as parallel
from . import parameter as parameter
from . import utils as utils
from ._factory import factory_kwargs as factory_kwargs
from .modules import *  # noqa: F403
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
