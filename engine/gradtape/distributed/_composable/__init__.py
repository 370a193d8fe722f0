"""gradtape.distributed._composable: out of reach, see docs/out-of-reach.md."""

from . import fsdp as fsdp
