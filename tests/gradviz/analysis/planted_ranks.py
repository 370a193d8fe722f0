"""The files of many ranks, made by repeating a real one, some with a planted fault."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from gradviz import ir
from gradviz.ir import json as ir_json

Change = Callable[[ir.Snapshot], ir.Snapshot]

LATE, LAYER = 12, 2  # the step and the layer of what is planted


def other_weights(whole: ir.Snapshot) -> ir.Snapshot:
    """Train another model from a step on."""
    return _from(whole, lambda p: replace(p, weight_norm=1.5 * (p.weight_norm or 1)))


def other_loss(whole: ir.Snapshot) -> ir.Snapshot:
    """Sum where the others take the mean: gradients before the average are larger."""
    return _from(whole, lambda p: replace(p, local_norm=1e4 * (p.local_norm or 1)))


def no_gradient(whole: ir.Snapshot) -> ir.Snapshot:
    """Leave a parameter unused from a step on."""
    return _from(whole, lambda p: replace(p, local_norm=None), only=LAYER)


def not_finite(whole: ir.Snapshot) -> ir.Snapshot:
    """Compute NaN at one step, which the average hides at the next."""
    row = _row(whole, LATE)
    points = tuple(
        replace(p, local_norm=float("inf")) if p.step == row else p for p in whole.flow
    )
    return replace(whole, flow=points)


def other_shape(whole: ir.Snapshot) -> ir.Snapshot:
    """Build a layer of another size."""
    layers = list(whole.flow_layers)
    layers[LAYER] = replace(layers[LAYER], count=layers[LAYER].count + 8)
    return replace(whole, flow_layers=tuple(layers))


def stopped(steps: int, error: str = "") -> Change:
    """Return what ends a rank after so many steps, with an error if one is given."""

    def cut(whole: ir.Snapshot) -> ir.Snapshot:
        rows = [r for r, s in enumerate(whole.flow_steps) if s.number < steps]
        events = (ir.Event("error", 0, text=error),) if error else ()
        return replace(
            whole,
            flow_steps=tuple(whole.flow_steps[row] for row in rows),
            flow=tuple(p for p in whole.flow if p.step in rows),
            events=(*whole.events, *events),
            processes=tuple(replace(p, steps=steps) for p in whole.processes),
        )

    return cut


def _row(whole: ir.Snapshot, number: int) -> int:
    return next(r for r, s in enumerate(whole.flow_steps) if s.number == number)


def _from(
    whole: ir.Snapshot,
    change: Callable[[ir.FlowPoint], ir.FlowPoint],
    only: int | None = None,
) -> ir.Snapshot:
    """Change the points of a layer and of those behind it, from a step on."""
    row = _row(whole, LATE)
    points = tuple(
        change(p)
        if p.step >= row and (p.layer >= LAYER if only is None else p.layer == only)
        else p
        for p in whole.flow
    )
    return replace(whole, flow=points)


def write_ranks(
    folder: Path,
    whole: ir.Snapshot,
    size: int,
    planted: Mapping[int, Change | None],
) -> list[Path]:
    """Write a file for each rank; None in place of a change leaves the file out.

    The gradients of every rank are of its own batch: before the average they differ.
    """
    files: list[Path] = []
    for rank in range(size):
        change = planted.get(rank, lambda same: same)
        if change is None:
            continue
        noise = random.Random(rank)
        points = tuple(
            replace(p, local_norm=(p.norm or 1.0) * noise.uniform(0.7, 1.4))
            for p in whole.flow
        )
        steps = tuple(replace(step, rank=rank) for step in whole.flow_steps)
        count = 1 + whole.flow_steps[-1].number
        own = replace(
            whole,
            flow=points,
            flow_steps=steps,
            processes=(ir.Process(rank, size, count),),
        )
        file = folder / f"seen-rank{rank}.json"
        file.write_text(ir_json.dumps(change(own)))
        files.append(file)
    return files
