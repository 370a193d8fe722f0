"""The gradient flow of a recording: every parameter, and what steps made of them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz.flow.judge import judge


@pytest.fixture(params=["gradtape", "torch"])
def lib(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def trained(lib: Any, steps: int = 3) -> ir.Snapshot:
    """A used layer, one that is frozen, and one that nobody calls."""
    net = lib.nn.Module()
    net.used = lib.nn.Linear(3, 2)
    net.frozen = lib.nn.Linear(3, 3)
    net.spare = lib.nn.Linear(2, 2)
    for parameter in net.frozen.parameters():
        parameter.requires_grad_(False)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.5)
    with gradviz.record(detail="full") as recorder:
        for _ in range(steps):
            optimizer.zero_grad()
            net.used(net.frozen(lib.ones(4, 3))).sum().backward()
            optimizer.step()
    return recorder.snapshot()


def test_parameters_that_no_gradient_reached_are_layers_too(lib: Any):
    snapshot = trained(lib)
    found = {each.name: (each.count, each.frozen) for each in snapshot.flow_layers}
    assert found == {
        "used.weight": (6, False),
        "used.bias": (2, False),
        "frozen.weight": (9, True),
        "frozen.bias": (3, True),
        "spare.weight": (4, False),
        "spare.bias": (2, False),
    }
    reached = {snapshot.flow_layers[point.layer].name for point in snapshot.flow}
    assert reached == {"used.weight", "used.bias"}
    points = [None] * len(snapshot.flow_layers)
    verdicts = judge(snapshot.flow_layers, points)
    assert [word for word in verdicts if word] == [
        "none"
    ] * 4  # frozen ones ask for none


def test_a_parameter_that_was_given_a_gradient_is_not_without_one(lib: Any):
    net = lib.nn.Linear(3, 2)
    net.made, net.spare = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.5)
    with gradviz.record() as recorder:
        for _ in range(4):
            net(lib.ones(4, 3)).sum().backward()
            for parameter in net.made.parameters():
                parameter.grad = lib.ones_like(parameter)
            optimizer.step()
    found = {each.name for each in recorder.snapshot().flow_layers}
    assert found == {"weight", "bias", "spare.weight", "spare.bias"}


def test_a_layer_of_no_kept_graph_has_the_elements_of_its_gradients(lib: Any):
    nets = {"early": lib.nn.Linear(3, 2), "late": lib.nn.Linear(4, 2)}
    early, late = nets["early"], nets["late"]
    with gradviz.record(steps=1, detail="full") as recorder:
        early(lib.ones(4, 3)).sum().backward()
        late(lib.ones(4, 4)).sum().backward()
    snapshot = recorder.snapshot()
    known = {each.name: (each.count, each.tensor) for each in snapshot.flow_layers}
    assert known["early.weight"] == (6, None)
    assert known["late.weight"][0] == 8
    assert known["late.weight"][1] is not None


def test_what_a_step_changed_is_measured_where_values_are_looked_at(lib: Any):
    snapshot = trained(lib)
    row = [each.name for each in snapshot.flow_layers].index("used.weight")
    points = [point for point in snapshot.flow if point.layer == row]
    assert len(points) == 3
    for point in points:
        assert point.norm is not None
        assert point.weight_norm is not None
        # Plain descent moves a weight by the rate times its gradient.
        assert point.update_norm == pytest.approx(0.5 * point.norm, rel=1e-4)


def test_steps_change_nothing_where_no_graph_is_recorded(lib: Any):
    parameter = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([parameter], lr=0.5)
    with gradviz.record(graph=False, detail="full") as recorder:
        parameter.sum().backward()
        optimizer.step()
    (part,) = [each for each in recorder._parts if each.engine == lib.__name__]
    assert part.log is not None
    assert part.log.program.updates is None


def test_models_that_nothing_trains_here_are_left_out(lib: Any):
    other = lib.nn.Linear(7, 7)  # found among the program's names, and never used
    snapshot = trained(lib)
    assert other.weight.grad is None
    assert 49 not in [each.count for each in snapshot.flow_layers]
