"""The statements of a run as lines of text, those of loops folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from gradviz.program import Program
from gradviz.text.words import clean, counted
from gradviz.tracing.statements import Assigned, Tensors, assigned

_TURNS = 3  # of the same line with the same words
_DIFFERENT = 10  # of the same line, whatever it says
_MOST_LINES = 20_000
_SHOWN = 3  # tensors of one name

_DROPPED = (
    "The first {count:,} events of this run were let go of; the lines begin after them."
)
_TOO_MANY = f"There are more than {_MOST_LINES:,} lines; the rest is left out."


def traced(program: Program) -> list[str]:
    """Return a run line by line: the place, and what its names got.

    A line that is deeper in calls stands further to the right. From its fourth turn on,
    a line that says nothing new is left out, and a sentence counts those.
    """
    events = program.events
    lines = list(_folded(assigned(program)))
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], _TOO_MANY]
    if events and events[0].index:
        lines.insert(0, _DROPPED.format(count=events[0].index))
    return lines


def _folded(statements: Iterable[Assigned]) -> Iterator[str]:
    turns, different = Counter[tuple[str, int, str]](), Counter[tuple[str, int]]()
    left_out = 0
    for each in statements:
        text = _line(each)
        place = each.file, each.line
        turns[*place, text] += 1
        different[place] += 1
        if turns[*place, text] > _TURNS or different[place] > _DIFFERENT:
            left_out += 1
            continue
        if left_out:
            yield _more(left_out)
            left_out = 0
        yield text
    if left_out:
        yield _more(left_out)


def _more(count: int) -> str:
    return f"… {counted(count, 'more line')} of iterations like those before"


def _line(each: Assigned) -> str:
    place = f"{PurePath(each.file).name}:{each.line}"
    named = ", ".join(f"{name} {_tensors(values)}" for name, values in each.names)
    return clean(f"{place:<16} {2 * each.depth * ' '}{named}", 160)


def _tensors(values: Tensors) -> str:
    shown = [f"{tuple(each.shape)} {each.dtype}" for each in values[:_SHOWN]]
    more = [f"{len(values) - _SHOWN} more"] if len(values) > _SHOWN else []
    return " and ".join([*shown, *more]) if len(values) != 1 else shown[0]
