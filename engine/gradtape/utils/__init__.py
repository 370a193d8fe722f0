"""Tools around tensors and graphs."""

from .._swap import swap_tensors as swap_tensors
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
