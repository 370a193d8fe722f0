"""Functions are written for the compiler line by line, and mean the same."""

from __future__ import annotations

import pytest

from compiling.build import ENGINE, marked_files
from compiling.translate import CannotCompileError, translate
from gradtape._common.compiled import fingerprint

HEADER = """
def gt_make(type): return object.__new__(type)
def gt_call0(function): return function()
def gt_item(o, i): return o[i]
"""
"""What ``attributes.h`` does, for what names no attribute."""

SOURCE = '''
limit = 3


class Record:
    __slots__ = ("first", "second")

    def total(self, more):
        """Add up."""
        return (
            self.first
            + self.second
            + more
        )


def told(record, *, least=0):
    """Go through every statement there is a form for."""
    found: list[int] = []
    record.first = record.second = made = limit + least
    for each in (record.first, made):
        if each > limit:
            found.append(each)
        elif each == 0:
            continue
        else:
            found.append(-each)
    while found[0] > 100:
        break
    try:
        found[7]
    except IndexError as error:
        found += [len(error.args)]
    finally:
        found.append(record.total(1))
    return found


Record.total = compiled(Record.total)
told = compiled(told)
'''


def _translated(source: str) -> str:
    """Return the translation with Python's own attributes in the header's place."""
    made = translate(source, "m")
    lines = [HEADER]
    for name in made.attributes:
        lines += [
            f"def get_{name}(o): return o.{name}",
            f"def set_{name}(o, v): o.{name} = v",
            *(f"def call{n}_{name}(o, *a): return o.{name}(*a)" for n in range(1, 5)),
        ]
    return "\n".join([*lines, made.text])


@pytest.mark.parametrize("least", [0, 1])
def test_a_translation_does_what_the_function_does(least: int) -> None:
    scope: dict[str, object] = {"compiled": lambda function: function}
    exec(SOURCE, scope)
    record = scope["Record"]()  # type: ignore[operator]
    expected = scope["told"](record, least=least)  # type: ignore[operator]
    makers: dict[str, object] = {}
    exec(_translated(SOURCE), makers)
    again = makers["m_told"](scope)  # type: ignore[operator]
    assert again(record, least=least) == expected
    assert (record.first, record.second) == (3 + least, 3 + least)


def test_lines_stay_where_they_are() -> None:
    text = translate(SOURCE, "m").text.splitlines()
    for number, line in enumerate(SOURCE.splitlines()):
        for word in ("found.append(-each)", "except IndexError", "finally:", "break"):
            if word in line:
                assert word.partition("(")[0].partition(".")[0] in text[number]


@pytest.mark.parametrize(
    "body",
    ["def inner(): pass", "global limit", "match x:\n        case 1: pass"],
)
def test_what_has_no_form_is_refused(body: str) -> None:
    source = f"\ndef f(x):\n    {body}\n    return x\n\n\nf = compiled(f)\n"
    with pytest.raises(CannotCompileError):
        translate(source, "m")


def test_every_function_that_is_marked_has_a_form() -> None:
    files = marked_files(ENGINE / "gradtape")
    made = [translate(file.read_text(encoding="utf-8"), "m") for file in files]
    assert all(each.makers for each in made)


def test_a_changed_function_has_another_fingerprint() -> None:
    def marks(text: str) -> int:
        return fingerprint(compile(text, "f.py", "exec"))

    assert marks("x = a in {'p', 'q', 'r'}") == marks("x = a in {'r', 'q', 'p'}")
    assert marks("def f(): return 1") != marks("def f(): return 2")
    assert marks("def f(): return a") != marks("def f(): return b")
    assert marks("def f(): return 1") != marks("\ndef f(): return 1")
