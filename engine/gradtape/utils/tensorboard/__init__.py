"""Curves and pictures for TensorBoard: gradtape.utils.tensorboard.

Needs the library ``tensorboard``, or ``tensorboardX``, which write the same files.
"""

from ._files import RecordWriter as RecordWriter
from .file_writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
