"""The package's names where programs of PyTorch look for them, too."""

from __future__ import annotations

from . import _ranks, _world
from ._backends import *  # noqa: F403
from ._collectives import *  # noqa: F403
from ._gathering import *  # noqa: F403
from ._group import ProcessGroup as ProcessGroup
from ._objects import *  # noqa: F403
from ._point_to_point import *  # noqa: F403
from ._ranks import *  # noqa: F403
from ._reduce_op import ReduceOp as ReduceOp
from ._reduce_op import reduce_op as reduce_op
from ._start import init_process_group as init_process_group
from ._store import PrefixStore as PrefixStore
from ._store import Store as Store
from ._work import Work as Work
from ._world import *  # noqa: F403
from .constants import default_pg_timeout as default_pg_timeout

_get_default_group = _world.default_group
_rank_not_in_group = _world.is_outside
_get_group_size = _ranks.get_world_size
