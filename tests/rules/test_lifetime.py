"""Rules about graphs, leaves and memory blame the right line, or nobody."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, case, run

_CARRIED = """
    import torch
    cell, out = torch.nn.RNNCell(3, 4), torch.nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], 0.1)
    h = torch.zeros(2, 4)
    for _ in range(3):
        h = cell(torch.randn(2, 3), h)
        out(h).pow(2).mean().backward(retain_graph=True)
        opt.step()
"""
_BUILT_ONCE = """
    import torch
    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    opt = torch.optim.SGD(layers.parameters(), 0.1)
    nodes = torch.tanh(layers(torch.ones(2, 4)))
    for _ in range(3):
        nodes.pow(2).mean().backward(retain_graph=True)
        opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("source", "line"), [(_CARRIED, 6), (_BUILT_ONCE, 4)])
def test_what_keeps_an_old_graph_is_named_and_not_the_step(
    source: str, line: int, engine: str
) -> None:
    diagnosis = diagnose(run(case("kept", source), engine))
    kept, *others = diagnosis.findings
    assert all(each.slug != "retain-graph-stale-weights" for each in others)
    assert kept.slug == "graph-kept-past-a-step"
    assert kept.culprit is not None
    assert diagnosis.sites[kept.culprit].line == line
