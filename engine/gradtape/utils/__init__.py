"""Tools around tensors and graphs."""

from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
