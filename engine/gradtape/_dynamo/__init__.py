"""gradtape._dynamo: the names of PyTorch's capture that programs use; none captures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._common.mirrors import import_mirrors
from .._common.refusals import refused_names
from ..compiler import allow_in_graph as allow_in_graph
from ..compiler import assume_constant_result as assume_constant_result
from ..compiler import disable as disable
from ..compiler import is_compiling as is_compiling
from ..compiler import list_backends as list_backends
from ..compiler import reset as reset
from . import utils as utils

globals().update(refused_names("_dynamo"))
import_mirrors(__name__)


class Config(SimpleNamespace):
    """Settings kept for programs that change them; nothing reads them."""

    def patch(self, *setting: Any, **settings: Any) -> Any:
        """Change settings, given by name or as a dict, in a block or a function.

        >>> import gradtape as torch
        >>> with torch._dynamo.config.patch("verbose", True):
        ...     torch._dynamo.config.verbose
        True
        """
        from unittest import mock  # takes longer to import than what it is for

        if len(setting) == 2:
            settings[setting[0]] = setting[1]
        elif setting:
            settings |= setting[0]
        return mock.patch.multiple(self, create=True, **settings)


config = Config(
    cache_size_limit=8,
    capture_scalar_outputs=False,
    recompile_limit=8,
    suppress_errors=False,
    verbose=False,
)
