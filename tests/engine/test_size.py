"""`Size` behaves as PyTorch's, in what it returns, prints and refuses."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradtape._tensor.size import Size

torch = pytest.importorskip("torch")

Make = Callable[..., Any]

RETURNS: dict[str, Callable[[Make], Any]] = {
    "empty": lambda size: size(),
    "from a list": lambda size: size([2, 3]),
    "from a generator": lambda size: size(n for n in (1, 2)),
    "from a bool": lambda size: size([True]),
    "from numpy": lambda size: size([np.int64(3)]),
    "an item": lambda size: size([2, 3])[-1],
    "a slice": lambda size: size([2, 3, 4])[1:],
    "a sum": lambda size: operator.add(size([2]), (3,)),
    "a reflected sum": lambda size: operator.add((3,), size([2])),
    "twice": lambda size: size([2, 3]) * 2,
    "twice, reflected": lambda size: 2 * size([2, 3]),
    "the count": lambda size: size([2, 3, 4]).numel(),
    "the count of none": lambda size: size().numel(),
    "equality": lambda size: size([2, 3]) == (2, 3),
    "a hash": lambda size: hash(size([2, 3])) == hash((2, 3)),
    "an unpickled one": lambda size: pickle.loads(pickle.dumps(size([2, 3]))),
    "membership": lambda size: 3 in size([2, 3]),
}

RAISES: dict[str, Callable[[Make], Any]] = {
    "a float": lambda size: size([2, 1.5]),
    "a string": lambda size: size(["a"]),
    "None": lambda size: size([None]),
    "a number": lambda size: size(3),
    "a list added": lambda size: operator.add(size([2]), [1]),
    "a number added": lambda size: operator.add(size([2]), 1),
}


@pytest.mark.parametrize("case", RETURNS)
def test_returns_what_pytorch_returns(case: str) -> None:
    ours, theirs = RETURNS[case](Size), RETURNS[case](torch.Size)
    assert repr(ours) == repr(theirs)
    assert isinstance(ours, Size) == isinstance(theirs, torch.Size)


@pytest.mark.parametrize("case", RAISES)
def test_refuses_with_pytorchs_sentence(case: str) -> None:
    with pytest.raises(TypeError) as theirs:
        RAISES[case](torch.Size)
    with pytest.raises(TypeError) as ours:
        RAISES[case](Size)
    assert str(ours.value) == str(theirs.value)
