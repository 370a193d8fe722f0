"""Find every entry: each module of this folder lists its own in ``OPS``."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ._record import Make, OpSample, Sample


@cache
def all_ops() -> tuple[OpSample, ...]:
    """Return the entries of all modules, ordered by module and place."""
    names = sorted(p.stem for p in Path(__file__).parent.glob("[!_]*.py"))
    modules = [importlib.import_module(f"{__package__}.{name}") for name in names]
    entries = tuple(entry for module in modules for entry in module.OPS)
    labels = [entry.label for entry in entries]
    twice = {label for label in labels if labels.count(label) > 1}
    assert not twice, f"entries of one name need a variant: {sorted(twice)}"
    return entries


def samples_of(entry: OpSample, dtype: str) -> Iterator[Sample]:
    """Yield the calls of an entry, with random values that never change."""
    seed = zlib.crc32(f"{entry.label} {dtype}".encode())
    yield from entry.samples(Make(dtype, seed))


def errors_of(entry: OpSample, dtype: str) -> Iterator[Sample]:
    """Yield the calls that both engines refuse."""
    if entry.errors is not None:
        seed = zlib.crc32(f"{entry.label} {dtype} errors".encode())
        yield from entry.errors(Make(dtype, seed))
