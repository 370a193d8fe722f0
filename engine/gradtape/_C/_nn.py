"""The names of ``torch._C._nn`` that modules use."""

from __future__ import annotations

from typing import Any

from ..ops._to_arguments import read_module_to


def parse_to(*given: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of arguments of ``to``.

    Raises TypeError where they fit none of its forms.
    """
    target = read_module_to(given, named)
    return target.device, target.dtype, target.non_blocking, target.memory_format


_parse_to = parse_to
