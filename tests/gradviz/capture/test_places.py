"""Statements and functions are found in long files without walking all of them."""

from __future__ import annotations

import ast
import dis
from pathlib import Path

import pytest

from gradviz.program.places import Places

_FUNCTION = """
@mark
def f{0}(x):
    for y in x:
        match y:
            case {0}:
                z = (
                    y + 1
                )
    return lambda: z
"""


def test_what_stands_at_a_line_is_found_without_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "long.py"
    file.write_text("mark = id\n" + "".join(map(_FUNCTION.format, range(200))))
    code = compile(file.read_text(), str(file), "exec")
    functions = [each for each in code.co_consts if hasattr(each, "co_code")]
    places, visited = Places(), list[ast.AST]()
    places.tree(str(file))
    children = ast.iter_child_nodes

    def counted(node: ast.AST) -> object:
        visited.append(node)
        return children(node)

    monkeypatch.setattr(ast, "iter_child_nodes", counted)
    last = functions[-1]
    found = places.function(last)
    assert isinstance(found, ast.FunctionDef)
    assert found.name == "f199"
    line = last.co_firstlineno + 5
    assert places.targets(places.at_line(last, line + 1)) == ["z"]
    assert places.columns(str(file), line) == (17, 22)
    (inner,) = [each for each in last.co_consts if hasattr(each, "co_code")]
    assert isinstance(places.function(inner), ast.Lambda)
    assert len(visited) < 100


def test_of_statements_on_one_line_the_one_around_the_site_is_found(
    tmp_path: Path,
) -> None:
    file = tmp_path / "one.py"
    file.write_text("if id: é = id('ü'); b = id(é); c = id(b)\n", encoding="utf-8")
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    calls = [each for each in dis.get_instructions(code) if each.opname == "CALL"]
    found = [Places().targets((code, call.offset)) for call in calls]
    assert found == [["é"], ["b"], ["c"]]
