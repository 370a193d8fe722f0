"""gradtape._library: what programs take from PyTorch's package of that name."""

from . import utils as utils
