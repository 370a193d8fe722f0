"""Python's `multiprocessing`, and functions that start processes as PyTorch does.

A tensor that is sent to another process, through a queue or a pipe, is copied.
"""

import multiprocessing as _multiprocessing
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._sharing import get_all_sharing_strategies as get_all_sharing_strategies
from ._sharing import get_sharing_strategy as get_sharing_strategy
from ._sharing import set_sharing_strategy as set_sharing_strategy
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

globals().update(
    {name: getattr(_multiprocessing, name) for name in _multiprocessing.__all__}
)

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any: ...
