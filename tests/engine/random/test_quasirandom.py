"""Sobol points are PyTorch's, scrambled or not."""

from __future__ import annotations

from typing import Any

import pytest

from ..oracle import assert_equal

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("dimension", "scramble", "seed"),
    [(1, False, None), (5, False, None), (7, True, 3), (40, True, 9), (3, True, None)],
)
def test_points_and_states(dimension: int, scramble: bool, seed: int | None):
    def program(t: Any) -> Any:
        t.manual_seed(5)
        engine = t.quasirandom.SobolEngine(dimension, scramble=scramble, seed=seed)
        drawn = [engine.draw(1).tolist(), engine.draw(6).tolist()]
        drawn.append(engine.fast_forward(3).draw(4, dtype=t.float64).tolist())
        count = engine.num_generated
        drawn.append(engine.reset().draw(2).tolist())
        return (
            drawn,
            count,
            engine.quasi.tolist(),
            repr(engine),
            str(engine.draw().dtype),
        )

    assert_equal(program)


def test_leaving_points_out_and_drawing_into_a_tensor():
    def program(t: Any) -> Any:
        out = t.empty(0)
        engine = t.quasirandom.SobolEngine(2).fast_forward(5)
        assert engine.draw(3, out=out) is out
        return out.tolist()

    assert_equal(program)


def test_balanced_draws():
    def program(t: Any) -> Any:
        engine = t.quasirandom.SobolEngine(2)
        first = engine.draw_base2(2).tolist(), engine.draw_base2(2).tolist()
        with pytest.raises(ValueError, match="balance") as caught:
            engine.draw_base2(2)
        return first, " ".join(str(caught.value).split())

    assert_equal(program)


@pytest.mark.parametrize("dimension", [0, 21202])
def test_dimensions_without_direction_numbers_are_refused(dimension: int):
    def program(t: Any) -> Any:
        with pytest.raises(ValueError, match="Supported range") as caught:
            t.quasirandom.SobolEngine(dimension)
        return str(caught.value)

    assert_equal(program)
