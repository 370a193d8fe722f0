"""gradtape.distributed.algorithms: out of reach, see docs/out-of-reach.md."""

from . import join as join
