"""Where a gradient ends unseen, and which memory a finding is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz._capture.session import Session
from gradviz.diagnosis import cuts
from gradviz.diagnosis._drawn import with_sites
from gradviz.diagnosis.cuts import with_cuts
from gradviz.diagnosis.ghosts import NO_NODE
from gradviz.ir.validate import validate
from gradviz.program import History
from gradviz.program.records import Program


def cut_edges(snapshot: ir.Snapshot) -> list[tuple[str, str]]:
    """Return the cut edges by the calls at their ends."""
    validate(snapshot)
    calls = [node.call for node in snapshot.nodes]
    return [
        (calls[edge.source], calls[edge.target])
        for edge in snapshot.edges
        if edge.kind == "cut"
    ]


def ghosts(snapshot: ir.Snapshot) -> list[ir.OpNode]:
    return [node for node in snapshot.nodes if node.kind == "cut"]


def start(lib: Any) -> Any:
    return lib.tensor([1.0, 2.0, 3.0], requires_grad=True)


def record(lib: Any) -> Session:
    return gradviz.record(engine=lib.__name__)


def test_asking_for_a_gradient_to_be_kept_cuts_nothing(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        h = x * 2
        h.retain_grad()
        h.register_hook(lambda grad: grad * 10)
        h.sum().backward()
    assert "hook-order" in [each.slug for each in rec.diagnose().findings]
    for each in ghosts(rec.snapshot()):
        assert each.flags == (NO_NODE,)  # it stands for the finding's line, for no cut


def test_a_branch_that_comes_back_detached_is_drawn_with_its_line(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        teacher = (y * 2).detach()
        (y * teacher).sum().backward()
    snapshot = rec.snapshot()
    assert cut_edges(snapshot) == [("mul", "detach"), ("detach", "mul")]
    (ghost,) = ghosts(snapshot)
    assert ghost.site is not None
    assert "detach()" in snapshot.sites[ghost.site].text
    given = snapshot.tensors[ghost.outputs[0]]
    assert (given.shape, given.requires_grad, given.name) == ((3,), False, "teacher")


def test_the_node_of_the_result_takes_the_cut_in(lib: Any):
    x = start(lib)
    net = lib.nn.Linear(3, 1)
    with record(lib) as rec:
        net(x.exp().detach()).sum().backward()
    snapshot = rec.snapshot()
    (edge,) = [
        edge
        for edge in snapshot.edges
        if edge.kind == "cut" and snapshot.nodes[edge.source].kind == "cut"
    ]
    assert snapshot.nodes[edge.target].name == "AddmmBackward0"


def test_a_cut_is_found_behind_calls_that_no_gradient_reaches(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        mask = (y > 5).float().mean()
        (y * mask).sum().backward()
    assert cut_edges(rec.snapshot()) == [("exp", "gt"), ("gt", "mul")]


def test_what_runs_under_no_grad_says_so(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        with lib.no_grad():
            z = y * 3 + 1
        (y * z).sum().backward()
    snapshot = rec.snapshot()
    assert cut_edges(snapshot) == [("exp", "no_grad"), ("no_grad", "mul")]
    assert ghosts(snapshot)[0].name == "mul"


def test_a_leaf_made_of_the_graph_shows_where_it_comes_from(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        fresh = y.detach().requires_grad_()
        (fresh * 2).sum().backward()
        y.sum().backward()
    assert cut_edges(rec.snapshot()) == [("exp", "detach"), ("detach", "fresh")]


def test_values_that_nothing_of_the_graph_depends_on_are_not_drawn(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        loss = (x * lib.ones(3)).sum()
        print(loss.item(), loss.detach(), (x * 2).argmax())
        loss.backward()
    assert ghosts(rec.snapshot()) == []


def test_a_finding_gets_the_cut_that_it_is_about(lib: Any):
    net = lib.nn.Linear(2, 1)
    with record(lib) as rec:
        out = net(lib.ones(4, 2))
        hits = (out > 0).float()
        loss = 1 - hits.mean()
        loss.requires_grad_(True)
        loss.backward()
    snapshot = rec.snapshot()
    assert ("gt", "loss") in cut_edges(snapshot)
    (finding,) = snapshot.findings
    row = snapshot.nodes.index(ghosts(snapshot)[0])
    assert row in finding.nodes


def test_a_finding_names_the_memory_that_was_overwritten(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        y += 1
        with pytest.raises(RuntimeError):
            y.sum().backward()
    snapshot = rec.snapshot()
    (finding,) = snapshot.findings
    (saved,) = [row for row in snapshot.saved if row.version_now > row.version_saved]
    assert finding.tensors == (saved.tensor,)
    assert finding.storages == (snapshot.tensors[saved.tensor].storage,)


def test_a_cut_that_no_rule_looked_at_has_its_line(lib: Any):
    x = start(lib)
    with record(lib) as rec:
        y = x.exp()
        (y * y.detach()).sum().backward()
    (run,) = [run for _, run in rec.asked().runs]
    unread = replace(rec.snapshot(), sites=(), sources=())
    program = run.history.program
    places = [each.site for each in program.events if each.site is not None][:1]
    drawn, rows = with_sites(unread, History(program), places)
    row = rows[places[0]]
    assert row is not None
    assert drawn.sites[row].source is not None


def test_a_snapshot_outlives_a_log_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
):
    def fails(*_: object) -> None:
        raise ValueError("no log")

    monkeypatch.setattr(cuts, "History", fails)
    snapshot = with_cuts(ir.Snapshot("p"), Program("gradtape"))
    assert snapshot.notes == ("Cuts were not drawn: ValueError: no log",)


def test_of_a_line_that_all_layers_share_only_the_neighbours_are_marked(lib: Any):
    class Block(lib.nn.Module):
        def __init__(self, cuts: bool) -> None:
            super().__init__()
            self.inner = lib.nn.Linear(3, 3)
            self.cuts = cuts

        def forward(self, x: Any) -> Any:
            y = self.inner(x)
            if self.cuts:
                y = y.detach()
            return x + y

    net = lib.nn.Sequential(*(Block(layer == 7) for layer in range(12)))
    with record(lib) as rec:
        net(lib.ones(2, 3)).sum().backward()
    snapshot = rec.snapshot()
    (finding,) = snapshot.findings
    ghost = snapshot.nodes[finding.nodes[0]]
    assert ghost.call == "detach"
    assert ghost.scope is not None
    assert snapshot.scopes[ghost.scope].kind == "Block"
    assert [snapshot.nodes[row].name for row in finding.nodes[1:]] == ["AddmmBackward0"]


class TwoHeads:
    """A trunk, a head that a loss uses, and one whose result nothing uses."""

    def __new__(cls, lib: Any, frozen: bool = False) -> Any:
        class Net(lib.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.trunk = lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.ReLU())
                self.used = lib.nn.Linear(3, 1)
                self.extra = lib.nn.Linear(3, 2)

            def forward(self, x: Any) -> Any:
                h = self.trunk(x)
                return self.used(h), self.extra(h)

        net = Net()
        for parameter in net.trunk.parameters() if frozen else ():
            parameter.requires_grad_(False)
        return net


def silent(snapshot: ir.Snapshot) -> list[tuple[str, str, tuple[str, ...]]]:
    validate(snapshot)
    return [(each.call, each.name, each.flags) for each in ghosts(snapshot)]


def test_a_frozen_part_is_drawn_as_one_box_before_who_uses_it(lib: Any):
    net = TwoHeads(lib, frozen=True)
    with record(lib) as rec:
        for _ in range(2):
            used, _ = net(lib.ones(2, 3))
            used.sum().backward()
    snapshot = rec.snapshot()
    frozen = [each for each in silent(snapshot) if each[0] == "trunk"]
    assert frozen == 2 * [("trunk", "Sequential", ("frozen",))]
    assert "trunk" in [source for source, _ in cut_edges(snapshot)]
    scopes = [snapshot.scopes[each.scope or 0].path for each in ghosts(snapshot)]
    assert {"Net", "Net#2"} <= set(scopes)
    outputs = [snapshot.tensors[each.outputs[0]].shape for each in ghosts(snapshot)]
    assert (2, 3) in outputs


def test_a_teacher_without_grad_is_drawn_with_that_reason(lib: Any):
    teacher, student = lib.nn.Linear(3, 1), lib.nn.Linear(3, 1)
    with record(lib) as rec:
        with lib.no_grad():
            target = teacher(lib.ones(2, 3)) * 2
        ((student(lib.ones(2, 3)) - target) ** 2).sum().backward()
    snapshot = rec.snapshot()
    assert silent(snapshot) == [("teacher", "Linear", ("no_grad",))]
    assert [target for _, target in cut_edges(snapshot)] == ["sub"]


def test_a_module_whose_nodes_are_drawn_is_not_drawn_again(lib: Any):
    net = TwoHeads(lib)
    with record(lib) as rec:
        used, extra = net(lib.ones(2, 3))
        (used.sum() + extra.sum()).backward()
    assert silent(rec.snapshot()) == []


def test_an_unused_head_is_drawn_where_its_nodes_are_gone():
    import torch

    net = TwoHeads(torch)
    with record(torch) as rec:
        for _ in range(2):
            net(torch.ones(2, 3))[0].sum().backward()
    snapshot = rec.snapshot()
    assert silent(snapshot)[0] == ("extra", "Linear", ("no gradient",))
    assert ("relu", "extra") in cut_edges(snapshot)
