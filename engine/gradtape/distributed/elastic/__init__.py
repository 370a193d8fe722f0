"""Where programs of torchrun import from: ``torch.distributed.elastic``."""

from . import multiprocessing as multiprocessing
