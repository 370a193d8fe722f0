"""Histories of gradients made by hand: what views of them are tested with."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradviz import ir

STATISTICS = ir.Statistics(
    64, -1.0, 1.0, 0.0, 0.5, 4.0, zeros=6, histogram=(1, 2) * 16,
    histogram_low=-1.0, histogram_high=1.0,
)  # fmt: skip


def history(
    names: tuple[str, ...] = ("in.weight", "in.bias", "out.weight"),
    steps: int = 12,
    norm: Callable[[int, int], float | None] = lambda _layer, _step: 1.0,
    nans: Callable[[int, int], int] = lambda _layer, _step: 0,
    ranks: tuple[int | None, ...] = (None,),
    updates: bool = True,
) -> ir.Snapshot:
    """Return a history of layers with 64 elements; step numbers are 0, 10, 20, …"""
    rows = [(rank, step) for rank in ranks for step in range(steps)]
    points = tuple(
        ir.FlowPoint(
            row,
            layer,
            norm=norm(layer, step),
            zeros=0 if norm(layer, step) else 64,
            nans=nans(layer, step),
            weight_norm=10.0 if updates else None,
            update_norm=0.01 * (1 + layer) * min(norm(layer, step) or 0.0, 1.0)
            if updates
            else None,
            gradient=0 if step == steps - 1 else None,
        )
        for row, (_, step) in enumerate(rows)
        for layer in range(len(names))
    )
    return ir.Snapshot(
        "gradviz",
        "a net",
        statistics=(STATISTICS,),
        flow_layers=tuple(ir.FlowLayer(name, "Linear", 64) for name in names),
        flow_steps=tuple(
            ir.FlowStep(step * 10, step * 1_000, rank, stepped=updates)
            for rank, step in rows
        ),
        flow=points,
    )


def troubled() -> ir.Snapshot:
    """Return a history with one layer of each kind of trouble, from its 8th step on."""
    sizes = [1.0, 1e-8, 1e6, 0.0, 1.0]

    def norm(layer: int, step: int) -> float:
        return sizes[layer] if step >= 7 else 1.0 + 0.1 * math.sin(step + layer)

    names = ("fine.weight", "tiny.weight", "huge.weight", "dead.weight", "nan.weight")
    late = 10
    return history(names, 12, norm, lambda l, s: 3 * (l == 4 and s >= late))  # noqa: E741
