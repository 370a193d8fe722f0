"""gradtape.distributed.fsdp: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused_names
from . import fully_sharded_data_parallel as fully_sharded_data_parallel
from . import sharded_grad_scaler as sharded_grad_scaler
from . import wrap as wrap

globals().update(refused_names("distributed.fsdp"))
