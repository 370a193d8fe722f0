"""The text view: a bounded table whose cells say what the snapshot says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz import ir
from gradviz.render.text import forward_order, to_text
from gradviz.text import words
from tests.gradviz import samples
from tests.gradviz.ir import strategies
from tests.gradviz.watching import flows


def row(text: str, start: str) -> str:
    """Return the one line that starts so."""
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line


def test_a_row_names_the_op_shape_scope_gradient_and_line():
    line = row(to_text(samples.cnn()), "conv2d")
    cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
    assert cells == [
        "conv2d",
        "(1, 4, 4, 4)",
        "net.conv",
        "0.25",
        "net.py:5",
        "y = self.bn(self.conv(image))",
    ]


def test_columns_line_up():
    lines = to_text(samples.mlp()).splitlines()
    start = row("\n".join(lines), "op").index("shape")
    assert row("\n".join(lines), "relu")[start:].startswith("(2, 4)")
    assert row("\n".join(lines), "w1 (leaf)")[start:].startswith("(3, 4)")


def test_leaves_stand_just_before_their_use():
    snapshot = samples.mlp()
    names = [words.label(snapshot.nodes[node]) for node in forward_order(snapshot)]
    assert names == ["w1", "matmul", "b1", "add", "relu", "sum"]


def test_the_first_line_counts_what_was_recorded():
    first = to_text(samples.mlp()).splitlines()[0]
    assert first == "mlp (samples 1.0): 6 nodes, 5 edges, 7 tensors, 9 events"


def test_notes_are_shown():
    assert to_text(samples.cnn()).endswith(
        "Note: The value read by detach() on line 8 has no gradient."
    )


def test_long_graphs_are_cut_in_the_middle_and_say_so():
    text = to_text(samples.chain(1_000), limit=10)
    assert "… 991 more" in text.splitlines()
    assert len(text.splitlines()) == 3 + 10 + 1
    assert text.splitlines()[3].startswith("x (leaf)")
    assert text.splitlines()[-1].startswith("mul")


def bad_chain() -> ir.Snapshot:
    """A chain of 100 whose gradients are NaN from the 40th operation backwards."""
    snapshot = samples.chain(100)
    return replace(
        snapshot,
        nodes=tuple(
            replace(node, grad_outputs=(0 if row <= 40 else 1,))
            for row, node in enumerate(snapshot.nodes)
        ),
        statistics=(
            ir.Statistics(4, norm=0.5, nans=3, infs=1),
            samples.mlp().statistics[3],
        ),
    )


def test_nan_rows_are_marked_and_kept():
    text = to_text(bad_chain(), limit=20)
    assert text.count("0.5 NaN×3 Inf×1") >= 10
    assert (
        "NaN or Inf in the gradients of 41 nodes; on the way back, first at mul."
        in text
    )


def test_colour_is_only_added_on_request():
    assert "\x1b" not in to_text(bad_chain())
    coloured = to_text(bad_chain(), color=True)
    assert "\x1b[31mmul" in coloured
    for code in ("\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == to_text(bad_chain())


@given(strategies.snapshots(), st.integers(0, 6), st.integers(40, 200))
def test_any_snapshot_is_bounded_and_safe(
    snapshot: ir.Snapshot, limit: int, width: int
):
    text = to_text(snapshot, limit=limit, width=width)
    findings = 3 * 16  # a few findings, each of a few lines
    assert len(text.splitlines()) <= 2 * limit + 16 + findings
    assert not set(text) & set("\x00\x1b\u202e\r\ud800")


def test_what_holds_no_graph_counts_no_nodes():
    empty = to_text(ir.Snapshot("demo 1.0", "train.py"))
    assert empty.splitlines()[0] == "train.py (demo 1.0): no operation with a gradient"
    watched = to_text(replace(flows.troubled(), title="watched", producer="torch"))
    assert watched.splitlines()[0] == "watched (torch)"


def test_rows_are_as_wide_as_asked():
    for line in to_text(samples.cnn(), width=90).splitlines()[2:-1]:
        assert words.columns(line) <= 90


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (0.123456, "0.1235"),
        (1e-9, "1e-09"),
        (123456.0, "1.235e+05"),
        (math.nan, "NaN"),
        (math.inf, "Inf"),
        (-math.inf, "-Inf"),
    ],
)
def test_numbers_are_short(value: float, written: str):
    assert words.number(value) == written


def test_wide_letters_count_twice():
    assert words.columns("日本") == 4
    assert words.columns("e\u0301") == 1
    assert words.clip("日本語", 5) == "日本…"
    assert words.clip("日本語", 6) == "日本語"


@given(st.text(max_size=40), st.integers(1, 20))
def test_clean_text_fits_and_is_one_line(text: str, width: int):
    cleaned = words.clean(text, width)
    assert words.columns(cleaned) <= width
    assert len(cleaned.splitlines()) <= 1
    cleaned.encode("utf-8")
