"""Random programs over all dtypes give under gradtape what they give in PyTorch."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.depth import PROGRAMS

from .play import difference, difference_in

KNOWN_SHARE = 0.03
"""How many programs may end where the engines are known to differ."""

LOTS = 8
"""Into how many tests the programs are dealt, for several processes."""


@pytest.mark.parametrize("lot", range(LOTS))
def test_programs_do_what_they_do_in_pytorch(lot: int) -> None:
    pytest.importorskip("torch")
    known: Counter[str] = Counter()
    for seed in range(lot, PROGRAMS, LOTS):
        found = difference(seed)
        if found is not None:
            assert found.cause, f"seed {seed}: {found}"
            known[found.cause] += 1
    few = 1 + KNOWN_SHARE * PROGRAMS / LOTS
    assert known.total() <= few, known


WRONG = {
    "dtype": ["t.ones(2)", "v[0].to(t.float64 if 'torch' == t.__name__ else t.int64)"],
    "stride()": ["t.ones(2, 3).T if 'torch' == t.__name__ else t.ones(3, 2)"],
    "_version": ["t.ones(2)", "v[0].add_(0) if 'torch' == t.__name__ else v[0]"],
    "values": ["t.full((2,), 1.0 if 'torch' == t.__name__ else 1.001)"],
    "result": ["t.ones(2 if 'torch' == t.__name__ else 3).numel()"],
    "shared memory": [
        "t.ones(2)",
        "v[0] * 1",
        "t.ones(2)",
        "v[1].set_(v[0] if 'torch' == t.__name__ else v[2])",
    ],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_slightly_wrong_is_seen(what: str) -> None:
    pytest.importorskip("torch")
    found = difference_in(WRONG[what])
    assert found is not None
    assert found.what.removeprefix("v[1]").removeprefix("v[0]").strip(" .") == what


def test_programs_are_the_same_in_every_run() -> None:
    pytest.importorskip("torch")
    from .play import Game

    games = Game(7), Game(7)
    for game in games:
        game.play()
    assert games[0].program == games[1].program
    assert len(games[0].program) > 3
