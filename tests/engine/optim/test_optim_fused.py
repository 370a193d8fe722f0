"""What optimizers with fused=True refuse, in PyTorch's words."""

from __future__ import annotations

from typing import Any

import pytest

from ..oracle import assert_same


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
@pytest.mark.parametrize("make", ["meta", "whole"])
def test_fused_steps_refuse_parameters_without_a_kernel(name: str, make: str) -> None:
    def program(t: Any) -> Any:
        kinds = {"meta": {"device": "meta"}, "whole": {"dtype": t.int64}}
        parameter = t.ones(2, **kinds[make])
        optimizer = getattr(t.optim, name)([parameter], lr=1.0, fused=True)
        parameter.grad = t.ones(2, **kinds[make])
        optimizer.step()

    assert_same(program)
