"""Answers of a bounded size: what is left out is counted, never silently dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gradviz.text.words import clean

MOST = 16_000
"""Characters of JSON in one answer: about 4,000 tokens of a language model."""

_HEAD = 200  # of them, kept for the brackets and for what is said to be left out
_LONGEST = 2_000  # characters of one text


def fitted(
    rows: Sequence[Any], *, first: int = 0, name: str, **others: Any
) -> dict[str, Any]:
    """Return an answer with as many rows as fit, from number ``first`` on.

    One row is always told, however long.

    >>> fitted(["a", "b"], name="letters", file="x")
    {'file': 'x', 'letters': ['a', 'b']}
    >>> answer = fitted(["a" * 9_000] * 3, name="letters")
    >>> len(answer["letters"]), answer["left_out"]
    (1, '2 of 3 letters are left out; ask again with first=1.')
    """
    room = MOST - _HEAD - _size(others)
    kept: list[Any] = []
    for row in rows[first:]:
        room -= _size(row)
        if room < 0 and kept:
            break
        kept.append(row)
    answer = {**others, name: kept}
    following = first + len(kept)
    if first or following < len(rows):
        more = f"; ask again with first={following}" if following < len(rows) else ""
        left = len(rows) - len(kept)
        answer["left_out"] = f"{left:,} of {len(rows):,} {name} are left out{more}."
    return answer


def text(words: str, most: int = _LONGEST) -> str:
    """Return a text without harmful characters, cut where it is too long.

    >>> text("a" * 30, 10)
    'aaaaaaaaaa… (20 more characters)'
    """
    lines = [clean(line) for line in words[: most + 1].split("\n")]
    whole = "\n".join(lines)
    left = len(words) - most
    return whole if left <= 0 else f"{whole[:most]}… ({left:,} more characters)"


def end(words: str, most: int = _LONGEST) -> str:
    """Return the end of a text, which is what counts of a program's output."""
    left = len(words) - most
    kept = text(words[-most:], most)
    return kept if left <= 0 else f"({left:,} characters before) …{kept}"


def _size(value: Any) -> int:
    """Return how long a row is as the protocol writes it: indented, two levels deep."""
    return len(json.dumps([[value]], indent=2, ensure_ascii=False))
