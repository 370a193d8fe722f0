"""Masked reductions of COO tensors and masks, and the helpers beside them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from .._compare import values_differ
from .._engines import OURS, Engine, needs_torch, theirs

pytestmark = needs_torch
CELLS = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
VALUES = np.array([[3.0, -1, 0, 2], [0, 0, 5, 0], [0, 7, -4, 1]])
CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"dim": 0},
    {"dim": 1, "keepdim": True},
    {"dim": (0, 1), "keepdim": True},
)


def outcome(engine: Engine, run: Any) -> Any:
    """Return a result as layout and arrays, or an error's type and sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch on unchecked coordinates
        try:
            found = run(engine)
        except Exception as error:
            return type(error).__name__, str(error)
        dense = found.to_dense() if found.layout is not engine.module.strided else found
        places = found._indices().tolist() if dense is not found else None
        return str(found.layout).rpartition(".")[2], engine.array(dense), places


def check_same(run: Any) -> None:
    mine, yours = outcome(OURS, run), outcome(theirs(), run)
    assert mine[0] == yours[0], mine
    if isinstance(mine[1], str):
        assert mine[1] == yours[1]
        return
    assert values_differ(mine[1], yours[1]) == ""
    assert mine[2] == yours[2]


@pytest.mark.parametrize("sparse", ["input", "mask", "both", "hybrid"])
@pytest.mark.parametrize("kind", ["float64", "int32", "float16"])
@pytest.mark.parametrize("name", ["amax", "amin", "prod", "sum"])
def test_coo_tensors_are_reduced_where_the_mask_is_true(
    name: str, kind: str, sparse: str
):
    dims = () if sparse != "hybrid" else (1,)

    def run(e: Engine, options: Any, mask: Any = CELLS) -> Any:
        x, m = e.tensor(VALUES.astype(kind)), None if mask is None else e.tensor(mask)
        if sparse != "mask":
            x = x.to_sparse(*dims)
        if m is not None and sparse != "input":
            m = m.to_sparse(*dims)
        return e.function(f"masked.{name}")(x, mask=m, **options)

    for options in CALLS:
        if sparse == "hybrid" and (name != "sum" or options.get("dim") == (0, 1)):
            options = {"dim": 0}  # PyTorch reduces dense dims with sum() alone
        check_same(lambda e, o=options: run(e, o))
        if sparse != "hybrid" or name not in ("amax", "amin"):  # of nothing: no shape
            check_same(lambda e, o=options: run(e, o, np.zeros_like(CELLS)))
    check_same(lambda e: run(e, {}, None))


@pytest.mark.parametrize("mask", [CELLS[0], CELLS, np.ones((2, 3, 4), dtype=bool)])
def test_a_sparse_mask_spreads_over_a_dense_input(mask: Any):
    def run(e: Engine) -> Any:
        sparse = e.tensor(mask).to_sparse()
        return e.module.masked.sum(e.tensor(VALUES), 1, mask=sparse)

    check_same(run)


@pytest.mark.parametrize("fill", [0, 9])
@pytest.mark.parametrize("dims", [(), (1,)])
@pytest.mark.parametrize("values", [VALUES, VALUES * 0])
def test_where_keeps_the_coordinates_of_the_mask(values: Any, dims: Any, fill: int):
    def run(e: Engine) -> Any:
        m, x = (e.tensor(a).to_sparse(*dims) for a in (CELLS, values))
        return e.module.masked._where(m, x, e.tensor(np.asarray(float(fill))))

    check_same(run)


@pytest.mark.parametrize("options", [{"dim": 1}, {"dim": (0, 1), "keepdim": True}])
@pytest.mark.parametrize("name", ["sum", "norm", "softmax", "logaddexp"])
def test_the_output_mask_tells_where_something_was_left_in(name: str, options: Any):
    def run(e: Engine) -> Any:
        masked = e.module.masked
        degree = (2.0,) if name == "norm" else ()
        return masked._output_mask(
            getattr(masked, name),
            e.tensor(VALUES),
            *degree,
            mask=e.tensor(CELLS),
            **options,
        )

    if name == "logaddexp":
        for engine in (OURS, theirs()):
            with pytest.raises(ValueError, match="expected masked operation"):
                run(engine)
    else:
        check_same(run)


@pytest.mark.parametrize("kind", ["float32", "int8", "bool", "complex64"])
@pytest.mark.parametrize(
    "name", ["sum", "torch.prod", "amax", "argmin", "logsumexp", "median", "norm"]
)
def test_identities_are_those_of_pytorch(name: str, kind: str):
    check_same(
        lambda e: e.module.masked._reduction_identity(
            name, e.tensor(VALUES.astype(kind))
        )
    )


def test_the_input_and_its_mask_are_combined():
    check_same(
        lambda e: e.module.masked._combine_input_and_mask(
            e.module.amin, e.tensor(VALUES), e.tensor(CELLS)
        )
    )
    check_same(lambda e: e.module.masked._input_mask(e.tensor(VALUES)))


@pytest.mark.parametrize("name", ["amax", "prod", "sum"])
def test_a_number_is_reduced_along_its_only_dim(name: str):
    def run(e: Engine) -> Any:
        x, m = (e.tensor(np.asarray(a)).to_sparse() for a in (3.0, True))
        return e.function(f"masked.{name}")(x, 0, mask=m)

    check_same(run)
