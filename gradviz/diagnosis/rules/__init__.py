"""All rules, one file each: every module here called ``gvNNN_slug`` makes one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from gradviz.diagnosis.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule, by code."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [
        importlib.import_module(f"{__name__}.{name}")
        for name in names
        if name.startswith("gv")
    ]
    return tuple(
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, Rule)
    )
