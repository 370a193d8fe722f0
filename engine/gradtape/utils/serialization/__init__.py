"""Settings of saving and loading, under PyTorch's name: ``config``."""

from . import config as config
