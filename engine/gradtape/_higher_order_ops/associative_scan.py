"""gradtape._higher_order_ops.associative_scan: see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused_names

globals().update(refused_names("_higher_order_ops.associative_scan"))
