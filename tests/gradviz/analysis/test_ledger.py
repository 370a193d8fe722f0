"""The ledger: what is saved, counted once, and where NaN and Inf begin and end."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz import cli, export, ir
from gradviz.analysis.ledger import Ledger, ledger_of
from gradviz.analysis.nonfinite import BadRow
from tests.gradviz import samples


def recorded(lib: Any, program: Callable[[], object]) -> Ledger:
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    with gradviz.record(engine=engine) as rec:
        program()
    return gradviz.ledger(rec)


def fates(rows: tuple[BadRow, ...], where: str) -> list[tuple[str, str, str]]:
    return [(row.op, row.kind, row.fate) for row in rows if row.where == where]


def test_a_storage_is_counted_once_and_stays_counted_while_a_node_keeps_it(lib: Any):
    x = lib.ones(8, requires_grad=True)

    def program() -> None:
        square = x * x  # saves x twice: 32 bytes
        keep.append(square.exp())  # saves its result: 32 more

    keep: list[Any] = []
    ledger = recorded(lib, program)
    assert [row.op for row in ledger.saved] == ["mul", "mul", "exp"]
    assert [row.counted for row in ledger.saved] == [True, False, True]
    assert (ledger.kept_bytes, ledger.parameter_bytes) == (64, 32)
    keep[0].sum().backward()


def test_after_backward_everything_is_freed_and_still_listed(lib: Any):
    x = lib.ones(8, requires_grad=True)
    ledger = recorded(lib, lambda: x.exp().sum().backward())
    (row,) = [row for row in ledger.saved if row.slot == "_saved_result"]
    assert (row.freed, row.shape, row.dtype) == (True, (8,), "float32")
    assert (ledger.kept_bytes, ledger.freed_bytes) == (0, 32)
    assert "nothing kept, 32 B freed" in repr(ledger)


def test_a_graph_that_is_broken_names_who_wrote(lib: Any):
    def program() -> None:
        y = lib.ones(3, requires_grad=True).sigmoid()
        y.mul_(2)
        with pytest.raises(RuntimeError):
            y.sum().backward()

    ledger = recorded(lib, program)
    (row,) = [row for row in ledger.saved if row.modified]
    assert (row.op, row.version_saved, row.version_now) == ("sigmoid", 0, 1)
    assert [each.split(":")[0] for each in row.writers] == ["mul_ test_ledger.py"]
    assert "0 → 1 modified" in ledger.to_text(width=200)
    assert "written by mul_ test_ledger.py" in ledger.to_text(width=200)


def test_a_finished_graph_that_was_freed_has_a_ledger(lib: Any):
    loss = lib.ones(3, requires_grad=True).exp().sum()
    loss.backward()
    ledger = gradviz.ledger(loss)
    assert all(row.freed for row in ledger.saved)
    assert ledger.kept_bytes == 0


def test_a_tensor_packed_by_a_hook_says_so(lib: Any):
    hooks = importlib.import_module(f"{lib.__name__}.autograd.graph")

    def program() -> None:
        x = lib.ones(3, requires_grad=True)
        with hooks.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            x.exp().sum().backward()

    ledger = recorded(lib, program)
    assert [row.hooked for row in ledger.saved if row.op == "exp"] == [True]
    assert "packed by a hook" in repr(ledger)


def test_nan_is_born_passed_on_and_healed(lib: Any):
    def program() -> None:
        x = lib.tensor([0.0, 1.0], requires_grad=True)
        ratio = x / x  # NaN at index 0
        twice = ratio * 2
        lib.where(lib.isnan(twice), lib.zeros_like(twice), twice).sum().backward()

    rows = recorded(lib, program).bad
    assert fates(rows, "value") == [
        ("div", "NaN", "birth"),
        ("mul", "NaN", "propagated"),
        ("where", "NaN", "healed"),
    ]
    first = rows[0]
    assert (first.count, first.first) == (1, (0,))
    assert first.place.startswith("test_ledger.py:")
    assert rows[1].cause == "from div"
    # 0 times NaN: what was healed forward comes back in the gradient of the division.
    assert ("div", "NaN", "birth") in fates(rows, "gradient")
    assert fates(rows, "gradient")[-1][1:] == ("NaN", "propagated")  # into x.grad


def test_no_nan_is_born_in_a_view(lib: Any):
    def program() -> None:
        layer = lib.nn.Linear(2, 2)
        x = lib.ones(1, 2, requires_grad=True)
        layer(x).sum().backward()
        with lib.no_grad():
            layer.weight.fill_(float("nan"))
        layer(x).sum().backward()

    rows = recorded(lib, program).bad
    assert not [row for row in rows if row.op == "t" and row.fate == "birth"]
    (view,) = [row for row in rows if row.op == "t" and row.where == "value"]
    assert (view.fate, view.cause) == ("propagated", "from weight")


def test_nan_born_of_inf_is_a_birth_of_its_own(lib: Any):
    def program() -> None:
        x = lib.tensor([0.0], requires_grad=True)
        (x.log() * 0).sum().backward()

    rows = recorded(lib, program).bad
    assert fates(rows, "value")[:2] == [
        ("log", "Inf", "birth"),
        ("mul", "NaN", "birth"),
    ]
    assert rows[1].cause == "of Inf, from log"


def test_a_clean_graph_has_no_row_of_nan_and_a_short_text():
    ledger = ledger_of(samples.mlp())
    assert ledger.bad == ()
    assert repr(ledger).endswith("NaN and Inf: none was seen.")


def test_many_rows_are_cut_in_repr_and_whole_on_demand():
    mlp = samples.mlp()
    snapshot = replace(mlp, saved=mlp.saved * 100)
    ledger = ledger_of(snapshot)
    assert f"… {len(snapshot.saved) - 60:,} more rows" in repr(ledger)
    assert "more row" not in ledger.to_text()
    assert len(ledger.to_text(limit=5).splitlines()) < 12


def test_html_is_a_table_without_markup_of_the_program():
    mlp = samples.mlp()
    evil = replace(mlp.nodes[2], call="<b>mm</b>\u202e")
    nodes = (*mlp.nodes[:2], evil, *mlp.nodes[3:])
    html = ledger_of(replace(mlp, nodes=nodes))._repr_html_()
    assert "&lt;b&gt;mm" in html
    assert "<b>" not in html
    assert "\u202e" not in html


def test_the_command_prints_the_ledger(tmp_path: Path, capsys: Any):
    path = export.export_json(samples.cnn(), tmp_path / "cnn.gradviz.json")
    assert cli.main(["ledger", str(path), "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Saved tensors: ")
    assert "… " in printed
    assert cli.main(["ledger", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("gradviz ledger: ")


def test_a_snapshot_prints_as_one_line():
    assert repr(samples.mlp()) == (
        "<snapshot 'mlp' of samples 1.0: 6 nodes, 5 edges, 2 saved tensors (2 kept), "
        "0 findings>"
    )
    assert repr(ir.Snapshot("x")).startswith("<snapshot '' of x: 0 nodes")
