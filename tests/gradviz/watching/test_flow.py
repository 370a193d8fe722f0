"""The flow of a snapshot as matrices, and the verdicts on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradtape as torch
import gradviz
from gradviz import ir
from gradviz.flow.judge import Usual, judge, judge_all
from gradviz.flow.table import flow_of
from tests.gradviz.watching import flows


def test_points_lie_in_matrices_of_layers_by_steps():
    flow = flow_of(flows.history(norm=lambda layer, step: 8.0 * layer + step))
    assert flow.norms.shape == (3, 12)
    assert flow.norms[2, 3] == 19.0
    assert flow.scale[2, 3] == pytest.approx(19.0 / 8)  # 64 elements
    assert flow.ratios[1].tolist() == pytest.approx([0.002] * 12)
    assert flow.numbers == list(range(0, 120, 10))
    assert flow.histogram(0, 11) == flows.STATISTICS
    assert flow.histogram(0, 0) is None


def test_what_was_not_measured_is_nan():
    flow = flow_of(flows.history(norm=lambda layer, _: None, updates=False))
    assert np.isnan(flow.norms).all()
    assert np.isnan(flow.ratios).all()


def test_each_rank_has_its_own_flow():
    snapshot = flows.history(ranks=(0, 1), norm=lambda _, step: 1.0 + step)
    assert flow_of(snapshot).ranks == (0, 1)
    assert flow_of(snapshot, 1).norms.tolist() == flow_of(snapshot).norms.tolist()
    assert flow_of(snapshot, 1).steps[0].rank == 1


def test_a_recording_without_history_is_one_step():
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with gradviz.record() as rec:
        (w * w).sum().backward()
    snapshot = rec.snapshot()
    flow = flow_of(
        ir.Snapshot("old", nodes=snapshot.nodes, edges=snapshot.edges,
                    tensors=snapshot.tensors, storages=snapshot.storages,
                    statistics=snapshot.statistics, sites=snapshot.sites,
                    sources=snapshot.sources)
    )  # fmt: skip
    assert flow.norms.tolist() == [[10.0]]
    assert flow.layers[0].name == "w"
    assert flow.layers[0].count == 2


def verdicts(*norms: float | None, counts: int = 4) -> list[str]:
    layers = [ir.FlowLayer(f"{row}.weight", "", counts) for row in range(len(norms))]
    points = [
        ir.FlowPoint(0, row, norm=norm, zeros=0 if norm else counts)
        for row, norm in enumerate(norms)
    ]
    return list(judge(layers, points))


def test_a_process_without_elements_of_a_parameter_has_no_zero_gradient():
    layers = [ir.FlowLayer(f"{row}.weight", "", 4) for row in range(2)]
    points = [ir.FlowPoint(0, 0, norm=1.0), ir.FlowPoint(0, 1, norm=0.0)]
    assert judge(layers, points) == ["", ""]


def test_layers_of_one_step_are_compared():
    assert verdicts(1.0, 1e-3, 1e-4) == ["", "", ""]
    assert verdicts(1.0, 1e-6, None, 0.0) == ["", "vanishing", "none", "zero"]
    assert verdicts(1.0, 2.0, 1e8) == ["", "", "exploding"]
    assert verdicts() == []


def test_a_bias_before_a_normalisation_has_no_gradient_and_that_is_fine():
    layers = [ir.FlowLayer("0.weight"), ir.FlowLayer("0.bias")]
    assert judge(layers, [ir.FlowPoint(0, 0, norm=1.0), ir.FlowPoint(0, 1, 1e-9)]) == [
        "",
        "",
    ]


def test_a_spike_is_no_explosion_but_a_hundredfold_norm_is():
    layers = [ir.FlowLayer("0.weight")]
    ordinary = [1.0]
    assert judge(layers, [ir.FlowPoint(0, 0, norm=30.0)], ordinary) == [""]
    assert judge(layers, [ir.FlowPoint(0, 0, norm=130.0)], ordinary) == ["exploding"]


def test_nothing_vanishes_for_an_optimizer_that_makes_up_for_it():
    layers = [ir.FlowLayer("a.weight", count=4), ir.FlowLayer("b.weight", count=4)]

    def verdict(update: float) -> str:
        usual = ir.FlowPoint(0, 0, norm=1.0, weight_norm=2.0, update_norm=1e-3)
        tiny = ir.FlowPoint(0, 1, norm=1e-7, weight_norm=2.0, update_norm=update)
        return judge(layers, [usual, tiny])[1]

    assert [verdict(update) for update in (5e-4, 1e-6)] == ["", "vanishing"]


def test_what_is_usual_follows_the_last_steps():
    usual = Usual(room=5)
    for norm in (1.0, math.nan, 0.0, 1.0, None, 1.0, 1.0):
        usual.add(0, norm)
    assert usual.of(0) is None, "four norms are too few"
    usual.add(0, 2.0)
    assert usual.of(0) == 1.0
    for _ in range(5):
        usual.add(0, 7.0)
    assert usual.of(0) == 7.0


def test_trouble_has_a_verdict_from_its_step_on():
    flow = flow_of(flows.troubled())
    found = judge_all(flow.layers, flow.points)
    assert [row[6] for row in found] == [""] * 5
    assert [row[7] for row in found] == ["", "vanishing", "exploding", "zero", ""]
    assert found[4][9:] == ["", "not finite", "not finite"]
