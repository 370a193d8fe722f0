"""Whatever happens to a checkpoint: an object comes out, or an error that is meant."""

from __future__ import annotations

import contextlib
import pickle
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable

import pytest

import gradtape
from tests.fuzz import damaged, peak_of

from ._files import loaded, record, saved, with_pickle

MEANT = (pickle.UnpicklingError, RuntimeError, ValueError, AssertionError)
ROOM = 40 << 20  # bytes: what the bounds let a small file take, and a few buffers
STATE = OrderedDict(
    weight=gradtape.nn.Parameter(gradtape.arange(6.0).reshape(2, 3)),
    part=gradtape.arange(8)[::2],
    more={"step": 3, "flags": [True, None, "x"], 7: (1.5, {1, 2})},
    sparse=gradtape.sparse_coo_tensor([[1], [1]], [3.0], (2, 2)),
    meta=gradtape.ones(2, device="meta"),
)
WHOLE = saved(gradtape, STATE)
OLD = saved(gradtape, STATE, _use_new_zipfile_serialization=False)
PICKLE = record(WHOLE, "data.pkl")
FILES: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "archive": (WHOLE, bytes),
    "old format": (OLD, bytes),
    "pickle": (PICKLE, lambda data: with_pickle(data, WHOLE)),
}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol", "ignore:Duplicate name")
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_checkpoint_is_refused_or_read_and_never_large(kind: str):
    valid, completed = FILES[kind]

    def load() -> None:
        with contextlib.suppress(*MEANT):
            loaded(gradtape, data)

    tracemalloc.start()
    try:
        for each in damaged(valid):
            data = completed(each)
            assert peak_of(load) < ROOM
    finally:
        tracemalloc.stop()
