"""What the user typed after ``%gradviz``, and above a recorded cell: text to text."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from typing import NoReturn


def options_of(line: str) -> tuple[Namespace, str]:
    """Return the leading options of a line, and the untouched rest.

    >>> options_of("--title t loss.sum()")
    (Namespace(title='t', html=None), 'loss.sum()')
    """
    parser = _Parser(prog="%gradviz", add_help=False)
    parser.add_argument("--title")
    parser.add_argument("--html")
    words, rest = split_options(line)
    return parser.parse_args(words), rest


class _Parser(ArgumentParser):
    """Answers a mistake as IPython does, and says where the options are listed."""

    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"{message}; `%gradviz?` lists what it takes.")


def split_options(line: str) -> tuple[list[str], str]:
    """Split a line into the words of its leading options and the untouched rest.

    >>> split_options('--title "a b" x["c  d"] - 1')
    (['--title', 'a b'], 'x["c  d"] - 1')
    """
    words: list[str] = []
    rest = line.strip()
    while match := re.match(r"--[A-Za-z][\w-]*(=?)", rest):
        count = 1 if match[1] else 2  # an option and its value
        for _ in range(count):
            word, rest = _first_word(rest)
            words += word
    return words, rest


def _first_word(text: str) -> tuple[list[str], str]:
    """Take one word off, unquoted as a shell does; none if there is none left."""
    found = re.match(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", text)
    if found is None:
        return [], text
    lexer = shlex.shlex(found[0], posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = ""  # on Windows a backslash separates folders
    return list(lexer), text[found.end() :].lstrip()


def record_in_place(lines: list[str]) -> list[str]:
    """Turn ``%%gradviz`` into a call above the cell's own lines, which stay.

    So IPython runs the cell as any other: its result, its traceback, its line numbers
    and top-level ``await`` are untouched. The call only starts the recorder.

    >>> print(*record_in_place(["%%gradviz --title a\\n", "loss = f(x)\\n"]), sep="")
    get_ipython().run_cell_magic('gradviz', '--title a', '\\n')
    loss = f(x)
    <BLANKLINE>
    """
    found = (
        re.fullmatch(r"%%gradviz(?:[ \t]+(.*))?", lines[0].rstrip()) if lines else None
    )
    if found is None or not "".join(lines[1:]).strip():
        return lines
    from IPython.core.inputtransformer2 import cell_magic

    start = f"get_ipython().run_cell_magic('gradviz', {found[1] or ''!r}, '\\n')\n"
    return [start, *cell_magic(lines[1:])]
