"""Options, expressions and cells as the user types them."""

from __future__ import annotations

import pytest

from gradviz.notebook.magic import record_in_place, split_options


@pytest.mark.parametrize(
    ("line", "words", "rest"),
    [
        ("loss", [], "loss"),
        ("-loss * 2", [], "-loss * 2"),
        ('--html a.html d["a  b"]', ["--html", "a.html"], 'd["a  b"]'),
        ("--html=a.html loss", ["--html=a.html"], "loss"),
        ("--title 'a b' --html c x", ["--title", "a b", "--html", "c"], "x"),
        (r"--html C:\runs\a.html x", ["--html", r"C:\runs\a.html"], "x"),
        ("--html", ["--html"], ""),
        ('--title "open', ["--title"], '"open'),
    ],
)
def test_options_are_split_from_the_expression(line: str, words: list[str], rest: str):
    assert split_options(line) == (words, rest)


@pytest.mark.parametrize(
    "cell",
    [
        ["x = 1\n"],
        ["%%gradvizzes\n", "x\n"],
        ["%%gradviz?\n"],
        ["%%gradviz\n"],
        ["%%gradviz\n", "  \n"],
        [],
    ],
)
def test_other_cells_are_left_as_they_are(cell: list[str]):
    assert record_in_place(cell) == cell
