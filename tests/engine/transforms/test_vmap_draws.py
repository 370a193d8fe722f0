"""Random numbers under vmap are PyTorch's, wherever the examples lie in the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_equal

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "rand_like": lambda t, a: t.rand_like(a),
    "randn_like": lambda t, a: t.randn_like(a),
    "randint_like": lambda t, a: t.randint_like(a, 99),
    "of a view": lambda t, a: t.rand_like(a.mT),
    "of a part": lambda t, a: t.rand_like(a[0]),
    "of a result": lambda t, a: t.rand_like(a * 2 + 1),
    "of a sum of two": lambda t, a: t.randn_like(a + t.ones(a.shape)),
    "of a product": lambda t, a: t.rand_like(a @ a.mT),
    "twice": lambda t, a: t.rand_like(a) + t.rand_like(a.exp()),
    "into a copy": lambda t, a: a.clone().normal_(),
    "into empty": lambda t, a: t.empty_like(a).exponential_(),
    "into empty, in rows": lambda t, a: t.empty_like(
        a, memory_format=t.contiguous_format
    ).cauchy_(),
    "of two values": lambda t, a: a.clone().bernoulli_(0.3),
    "integers": lambda t, a: a.clone().random_(9),
    "chances": lambda t, a: t.bernoulli(a),
    "dropout": lambda t, a: t.nn.functional.dropout(a + 1),
    "dropout of a view": lambda t, a: t.nn.functional.dropout(a.mT + 1),
    "native dropout": lambda t, a: t.native_dropout(a + 1, 0.5, True)[0],
    "alpha dropout": lambda t, a: t.nn.functional.alpha_dropout(a + 1, 0.5, True),
    "gumbel": lambda t, a: t.nn.functional.gumbel_softmax(a),
    "new": lambda t, a: t.rand(3, 2) + a[0, 0],
}


def drawn(torch: Any, name: str, dim: int, randomness: str, chunk: int | None) -> Any:
    x = torch.arange(24.0).view(2, 3, 4) / 24
    torch.manual_seed(3)
    mapped = torch.func.vmap(
        lambda a: PROGRAMS[name](torch, a), dim, 0, randomness, chunk_size=chunk
    )
    try:
        found = mapped(x).double()
    except RuntimeError as refusal:  # one draw for all, with the chances of each
        return str(refusal)
    return (found * 1e4).round().tolist(), torch.rand(1).item()


@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_pytorchs(name: str, dim: int, randomness: str, chunk: int | None):
    assert_equal(lambda torch: drawn(torch, name, dim, randomness, chunk))


def test_inputs_of_which_examples_lie_differently():
    def program(torch: Any) -> Any:
        x, y = torch.arange(12.0).view(3, 4), torch.arange(12.0).view(4, 3)
        torch.manual_seed(0)
        draw = torch.func.vmap(
            lambda a, b: (
                torch.rand_like(a),
                torch.rand_like(b),
                torch.rand_like(a * b),
            ),
            (0, 1),
            randomness="different",
        )
        return [each.tolist() for each in draw(x, y)]

    assert_equal(program)
