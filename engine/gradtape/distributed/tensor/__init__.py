"""gradtape.distributed.tensor: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused_names
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard

globals().update(refused_names("distributed.tensor"))
