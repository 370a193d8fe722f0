"""Collectives that gradients flow through: ``torch.distributed.nn``."""

from . import functional as functional
from .functional import all_gather as all_gather
from .functional import all_reduce as all_reduce
from .functional import broadcast as broadcast
