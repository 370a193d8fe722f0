"""The dependence graph itself: vertices, edges, gates, queries."""

from __future__ import annotations

import pytest

import gradtape as torch
from gradviz._capture.open_log import open_log
from gradviz.dependence.build import SURE, Kind
from gradviz.dependence.graph import Dependence
from gradviz.program import History


def graph_of(program):
    """Return the graph of what a function does, which gets a parameter."""
    weight = torch.nn.Parameter(torch.ones(3))
    with open_log("gradtape") as log:
        kept = program(weight)
        log.refresh()
        history = History(log.program)
        graph = history.once(Dependence)
        key = log.tensors.known(weight)
    root = graph.roots(history.backwards[-1])[0] if history.backwards else None
    return graph, key, root, kept


def test_edges_lead_forward_in_time_and_are_few():
    def program(weight):
        total = torch.zeros(())
        for _ in range(50):
            total = total + (weight * 2).detach().sum()
        (weight.sum() + total).backward()

    graph, _, _, _ = graph_of(program)
    edges = list(graph.edges())
    assert all(edge.source < edge.target for edge in edges)
    assert len(edges) <= 3 * len(graph)


def test_a_gate_on_every_way_is_told_from_one_beside_a_live_way():
    def straight_through(weight):
        (weight + (weight.round() - weight).detach()).sum().backward()

    graph, key, root, _ = graph_of(straight_through)
    (gate,) = graph.gates(key, root)
    assert gate.reason == "detach"
    assert not gate.every
    assert graph.gradient_paths(key, root) == 1

    def cut(weight):
        bias = torch.ones(3, requires_grad=True)
        ((weight * 2).detach() + bias).sum().backward()
        return bias

    graph, key, root, _ = graph_of(cut)
    (gate,) = graph.gates(key, root)
    assert gate.every
    assert graph.gradient_paths(key, root) == 0


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (lambda w: w.detach(), "detach"),
        (lambda w: w.data, "detach"),
        (lambda w: torch.ones(3) * (w.sum().item() * 1.5), "numbers"),
        (lambda w: (w > 0).float(), "threshold"),
        (lambda w: w.argmax().float(), "index"),
        (lambda w: torch.tensor(w.tolist()), "numbers"),
        (lambda w: torch.from_numpy(w.detach().numpy() * 2), "detach"),
    ],
)
def test_a_gate_has_the_reason_of_its_call(expression, reason):
    def program(weight):
        bias = torch.ones(3, requires_grad=True)
        (bias * expression(weight * 1.25)).sum().backward()
        return bias

    graph, key, root, _ = graph_of(program)
    assert [gate.reason for gate in graph.gates(key, root)] == [reason]


def test_a_branch_is_an_edge_of_control():
    def program(weight):
        bias = torch.ones(3, requires_grad=True)
        out = bias * 2
        if weight.sum() > 0:
            out = bias * 3
        out.sum().backward()
        return bias

    graph, key, root, _ = graph_of(program)
    found = graph.slice(key, root)
    assert found is not None
    assert found.tier & Kind.CONTROL
    assert not graph.influences(graph.vertices(key)[0], root, SURE)


def test_a_write_through_an_alias_reaches_the_reader_of_the_other():
    def program(weight):
        buffer = torch.zeros(3)
        row = buffer[:1]
        row.copy_(weight[:1].detach())
        (buffer * torch.ones(3, requires_grad=True)).sum().backward()
        return buffer, row

    graph, key, root, _ = graph_of(program)
    assert graph.influences(graph.vertices(key)[0], root)
    (write,) = [call for call in graph.history.calls if call.op == "copy_"]
    storage = write.writes[0].storage
    readers = graph.readers_after(storage, write.index)
    assert "mul" in {call.op for call in readers}
    assert graph.written_between(storage, 0, readers[-1].index) == [write]
    assert len(graph.aliases(write.writes[0].value)) == 1


def test_a_step_of_training_is_no_way_to_the_next_loss():
    def program(weight):
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (weight * 2).sum().backward()
            optimizer.step()
        return optimizer

    graph, key, root, _ = graph_of(program)
    first, last = graph.vertices(key)[0], graph.vertices(key)[-1]
    assert first not in graph.behind([root], SURE)
    assert first in graph.behind([last], SURE | Kind.UPDATE)
