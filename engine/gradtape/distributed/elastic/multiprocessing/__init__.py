"""Where programs of torchrun find ``errors.record``."""

from . import errors as errors
