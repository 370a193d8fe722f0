"""gradtape._higher_order_ops: out of reach, see docs/out-of-reach.md."""

from . import associative_scan as associative_scan
