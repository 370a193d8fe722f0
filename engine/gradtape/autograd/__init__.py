"""Differentiation: ``backward`` and ``grad``, and the modes they respect."""

from .._mode import enable_grad as enable_grad
from .._mode import no_grad as no_grad
from .._mode import set_grad_enabled as set_grad_enabled
from ._api import backward as backward
from ._api import grad as grad
