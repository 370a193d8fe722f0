"""Tag: what the schema of an op leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

_NAMES = (
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout "
    "generated inplace inplace_view maybe_aliasing_or_mutating "
    "needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise "
    "pt2_compliant_tag reduction view_copy"
)
Tag = Enum("Tag", _NAMES, start=0)


def listed(tags: Tag | Iterable[Tag] | None) -> list[Tag]:
    """Return the tags that somebody gave an op."""
    return [tags] if isinstance(tags, Tag) else list(tags or ())
