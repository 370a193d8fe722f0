"""Ops by their qualified names."""

from __future__ import annotations

from typing import Any

from .. import ops


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Return the two parts of "namespace::name"; ValueError for what has others.

    >>> parse_namespace("aten::sin")
    ('aten', 'sin')
    """
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{qualname}. The qualname passed to the torch.library APIs must consist "
            "of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """Return the overload of a name, "default" where it names none."""
    namespace, name = parse_namespace(qualname)
    short, _, overload = name.partition(".")
    return getattr(getattr(getattr(ops, namespace), short), overload or "default")
