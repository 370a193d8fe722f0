"""DataParallel without devices to part a batch among, against PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

from ..oracle import assert_same


def wrapped(torch: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.DataParallel(torch.nn.Linear(3, 2), **options)


@pytest.mark.parametrize("options", [{}, {"device_ids": [0, 1], "dim": 1}])
def test_it_computes_as_the_module_it_wraps(options: dict[str, Any]) -> None:
    def program(torch: Any) -> Any:
        model = wrapped(torch, **options)
        y = model(torch.ones(4, 3))
        y.sum().backward()
        return y, [p.grad for p in model.parameters()], model.device_ids

    assert_same(program)


def test_its_state_is_that_of_the_module_under_a_name() -> None:
    assert_same(lambda torch: [dict(wrapped(torch).state_dict()), repr(wrapped(torch))])


def test_keywords_are_handed_on() -> None:
    def program(torch: Any) -> Any:
        class Scale(torch.nn.Module):
            def forward(self, x: Any, *, by: float = 1.0) -> Any:
                return x * by

        return torch.nn.DataParallel(Scale())(torch.ones(2), by=3.0)

    assert_same(program)
