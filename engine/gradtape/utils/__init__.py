"""Tools around tensors and graphs."""

from . import hooks as hooks
