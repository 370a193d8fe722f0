"""Modules that are trained by several processes: ``torch.nn.parallel``."""

from .data_parallel import DataParallel as DataParallel
from .distributed import DistributedDataParallel as DistributedDataParallel
from .scatter_gather import gather as gather
from .scatter_gather import scatter as scatter
