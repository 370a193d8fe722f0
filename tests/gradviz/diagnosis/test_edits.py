"""Edits of sources: what is replaced, and that all the rest stays byte for byte."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from gradviz import ir
from gradviz.diagnosis.edits.calls import operand_of
from gradviz.diagnosis.edits.draft import Draft, NoEditError, applied
from gradviz.diagnosis.edits.files import patched, text_of
from gradviz.diagnosis.edits.syntax import Place, Source, called

Change = Callable[[Draft, ast.AST], object]


def edited(text: str, find: Callable[[ast.AST], bool], change: Change) -> str:
    """Return a text with the first node that ``find`` accepts changed."""
    source = Source("a.py", text, ast.parse(text))
    node = next(each for each in ast.walk(source.tree) if find(each))
    draft = Draft(source)
    change(draft, node)
    edit = draft.edit(safe=True)
    return applied(text, edit.replacements)


def calls(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: called(node) == name


def statement(line: int) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.stmt) and node.lineno == line


DROPPED = [
    ("y = x.detach()\n", "y = x\n"),
    ("y = (a + b).detach().sum()  # b\n", "y = (a + b).sum()  # b\n"),
    ("größe = x.détaché.detach() + 'ü'\n", "größe = x.détaché + 'ü'\n"),
    (
        "\ty = f(\n\t\tx,  # x.detach()\n\t).detach()\n",
        "\ty = f(\n\t\tx,  # x.detach()\n\t)\n",
    ),
    ("f = lambda z: [g(u.detach()) for u in z]\n", "f = lambda z: [g(u) for u in z]\n"),
    (
        "y = (\n    x\n    .tanh()  # .detach()\n    .detach()\n)\n",
        "y = (\n    x\n    .tanh()\n)\n",
    ),
    ("y = (x  # a. b\n     ).detach()\n", "y = (x  # a. b\n     )\n"),
]


@pytest.mark.parametrize(("before", "after"), DROPPED)
def test_a_method_is_dropped(before: str, after: str) -> None:
    indented = before.startswith("\t")
    before, after = (f"if 1:\n{t}" if indented else t for t in (before, after))
    made = edited(before, calls("detach"), lambda d, n: d.drop_method(n))  # type: ignore[arg-type]
    if "# .detach()" in before:  # a comment inside of the range goes with it
        assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(after))
    else:
        assert made == after


ARGUMENTS = [
    ("f()\n", "f(k=1)\n"),
    ("f(a)\n", "f(a, k=1)\n"),
    ("f(a, )\n", "f(a, k=1)\n"),
    ("f((a + b))\n", "f((a + b), k=1)\n"),
    ("f(\n    a,\n    b,  # last\n)\n", "f(\n    a,\n    b,  # last\n    k=1,\n)\n"),
    ("f(\n    a, b\n)\n", "f(\n    a, b, k=1\n)\n"),
]


@pytest.mark.parametrize(("before", "after"), ARGUMENTS)
def test_an_argument_is_added_behind_the_others(before: str, after: str) -> None:
    made = edited(before, calls("f"), lambda d, n: d.add_argument(n, "k=1"))  # type: ignore[arg-type]
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(after))
    assert [line for line in before.split("\n") if "# last" in line] == [
        line for line in made.split("\n") if "# last" in line
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [("f(a, k=1)\n", "f(a)\n"), ("f(k=1)\n", "f()\n"), ("f(k=1, *a)\n", "f(*a)\n")],
)
def test_an_argument_is_dropped_with_its_comma(before: str, after: str) -> None:
    def drop(draft: Draft, node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        draft.drop_argument(node, node.keywords[0])

    assert edited(before, calls("f"), drop) == after


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("y = f(x) * 2\n", "a + b", "y = (a + b) * 2\n"),
        ("y = f(x).sum()\n", "a + b", "y = (a + b).sum()\n"),
        ("y = g(f(x), 2)\n", "a + b", "y = g(a + b, 2)\n"),
        ("y = f(x)\n", "a +\n  b", "y = (a +\n  b)\n"),
    ],
)
def test_a_replacement_is_put_in_brackets_where_needed(
    before: str, new: str, after: str
) -> None:
    before, after = f"a = b = 1\n{before}", f"a = b = 1\n{after}"
    assert edited(before, calls("f"), lambda d, n: d.replace(n, new)) == after


def test_a_statement_goes_before_another_with_its_comment() -> None:
    before = "for x in z:\n    a()  # first\n    b()  # second\n\nc()\n"
    source = Source("a.py", before, ast.parse(before))
    loop = source.tree.body[0]
    assert isinstance(loop, ast.For)
    edit = Draft(source).move(loop.body[1], before=loop).edit(safe=True)
    made = applied(before, edit.replacements)
    assert made == "b()  # second\nfor x in z:\n    a()  # first\n\nc()\n"


def test_a_statement_that_shares_its_line_is_not_moved() -> None:
    with pytest.raises(NoEditError, match="share"):
        edited("a(); b()\nc()\n", statement(1), lambda d, n: d.remove(n))  # type: ignore[arg-type]


def test_a_statement_is_put_beside_one_that_shares_its_line() -> None:
    made = edited(
        "if x: a(); b()\n",
        calls("b"),
        lambda draft, node: draft.before(draft.source.statement(node), "a = 1"),
    )
    assert made == "if x: a(); a = 1; b()\n"


def test_a_block_is_wrapped_and_unwrapped_in_tabs() -> None:
    before = "import f\ndef g():\n\tx = 1  # é\n\treturn x\n"
    wrapped = edited(
        before,
        statement(3),
        lambda d, n: d.wrap_block([n], "with f():"),  # type: ignore[list-item]
    )
    assert wrapped == "import f\ndef g():\n\twith f():\n\t\tx = 1  # é\n\treturn x\n"
    back = edited(
        wrapped,
        lambda n: isinstance(n, ast.With),
        lambda d, n: d.unwrap_block(n),  # type: ignore[arg-type]
    )
    assert back == before


def test_a_text_of_several_lines_is_not_indented() -> None:
    before = 'x = """a\n  b"""\n'
    with pytest.raises(NoEditError, match="several lines"):
        edited(before, statement(1), lambda d, n: d.wrap_block([n], "with f():"))  # type: ignore[list-item]


def test_a_name_that_the_file_does_not_know_is_not_used() -> None:
    with pytest.raises(NoEditError, match="torch"):
        edited("y = f(x)\n", calls("f"), lambda d, n: d.replace(n, "torch.tanh(x)"))


def test_an_edit_changes_something() -> None:
    with pytest.raises(NoEditError):
        edited("y = f(x)\n", calls("f"), lambda d, n: d.replace(n, "f( x )"))


@pytest.mark.parametrize("text", ["y = x.sqrt()\n", "y = torch.sqrt(x)\n"])
def test_an_operand_is_found_in_both_forms(text: str) -> None:
    source = Source("a.py", text, ast.parse(text))
    node = next(each for each in ast.walk(source.tree) if called(each) == "sqrt")
    found = operand_of(Place(source, node, source.tree.body[0]))
    assert source.of(found) == "x"


FILES = [
    b"\xef\xbb\xbfx = 1\r\ny = 1\r\n",
    b"# coding: latin-1\nx = '\xe4'\n",
    b"x = 1\ny = 2\r\nz = 3\rw = 4",
    b"x = 1\n\x0cy = 1\n",
]


@pytest.mark.parametrize("data", FILES)
def test_bytes_outside_of_an_edit_stay(data: bytes) -> None:
    lines = text_of(data).split("\n")
    at = len(lines[1]) + 1
    row = ir.Replacement("a.py", 2, at, 2, at, " + 7")
    made = patched(data, [row])
    assert made.count(b" + 7") == 1
    assert made.replace(b" + 7", b"") == data
