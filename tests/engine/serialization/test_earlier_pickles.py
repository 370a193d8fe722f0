"""Plain pickles of earlier versions, which name modules that have moved since.

`earlier_pickles` was written before they moved: `classes` lists what the modules held,
`objects` holds things made of it; `joined` lists what was moved later.
"""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path
from pickletools import genops
from typing import Any

import pytest

import gradtape
from gradtape.serialization import _moved_modules

_FILES = Path(__file__).parent / "earlier_pickles"


def content(name: str) -> bytes:
    return zlib.decompress((_FILES / f"{name}.pkl.zlib").read_bytes())


def test_all_that_moved_modules_held_is_found():
    found = pickle.loads(content("classes"))
    assert gradtape.nn.Linear in found
    assert gradtape.distributions.constraints.Constraint in found
    assert all(callable(each) for each in found)
    later = pickle.loads(content("joined"))
    assert gradtape.optim.lr_scheduler.OneCycleLR in later
    assert all(callable(each) for each in later)


def test_the_files_name_every_module_of_the_table():
    named = {
        argument
        for name in ("classes", "objects", "joined")
        for _, argument, _ in genops(content(name))
        if isinstance(argument, str)
    }
    assert set(_moved_modules._HOMES) <= named


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    return pickle.loads(content("objects"))


def test_tensors_are_what_they_were(objects: dict[str, Any]):
    assert objects["tensor"].tolist() == [0, 1, 2]
    assert objects["view"].tolist() == [[1, 4], [2, 5]]
    assert objects["sparse"].to_dense().tolist() == [1, 2, 0]
    assert isinstance(objects["parameter"], gradtape.nn.Parameter)
    assert list(objects["typed"]) == [0, 1]
    assert objects["storage"].nbytes() == 8
    assert objects["size"] == gradtape.Size([1, 2])
    assert objects["finfo"] == gradtape.finfo(gradtape.float32)
    assert objects["layout"] is gradtape.strided
    assert objects["gelu"] is gradtape.nn.functional.gelu


def test_modules_run(objects: dict[str, Any]):
    x = gradtape.ones(1, 1)
    assert objects["linear"](x).shape == (1, 1)
    assert objects["lazy"](x).shape == (1, 1)
    assert objects["pruned"].weight.tolist() == [[0]]
    y = gradtape.ones(1, 1, 2)
    assert objects["attention"](y, y, y)[0].shape == (1, 1, 2)


def test_schedulers_and_distributions_go_on(objects: dict[str, Any]):
    assert objects["scheduler"].get_last_lr() == [0.1]
    assert objects["constraint"].check(gradtape.ones(1)).all()
    assert objects["normal"].log_prob(gradtape.zeros(1)).item() == pytest.approx(
        -0.919, abs=1e-3
    )
    assert all(each(gradtape.zeros(1)) == 1 for each in objects["transforms"])


def test_other_modules_are_missing_as_ever():
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(b"cgradtape.nn.modules._anything\nLinear\n.")
    with pytest.raises(AttributeError, match="'Nothing'"):
        pickle.loads(b"cgradtape.nn.modules._linear\nNothing\n.")
