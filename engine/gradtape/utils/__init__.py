"""Tools around tensors and graphs."""

from ..ops.memory.swap import swap_tensors as swap_tensors
from . import _mode_utils as _mode_utils
from . import _python_dispatch as _python_dispatch
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
