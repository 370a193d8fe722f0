"""Tools around tensors and graphs."""

from . import checkpoint as checkpoint
from . import hooks as hooks
