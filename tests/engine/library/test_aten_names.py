"""Functions under their names in ``torch.ops.aten``, and what serves as an index."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape

from ..nn.lines import check_line


@pytest.mark.parametrize("indices", ["-i", "i-", "-b", "m", "--i", "ii", "-."])
def test_aten_takes_no_index_for_a_whole_dimension(indices: str):
    def program(t: Any) -> Any:
        known = {
            "-": None,
            "i": t.tensor([1, 0]),
            "b": t.tensor([True, False, True]),
            "m": t.ones(2, 3, dtype=t.bool),
            ".": t.tensor(1),
        }
        given = [known[each] for each in indices]
        x, aten = t.arange(6.0).reshape(2, 3).requires_grad_(), t.ops.aten
        found: list[Any] = []
        for call in (
            lambda: aten.index(x, given),
            lambda: aten.index_put(x, given, t.tensor(7.0)),
            lambda: aten.index_put.default(x, given, t.tensor(7.0), True),
            lambda: aten.index_put_(x.detach().clone(), given, t.tensor(7.0)),
        ):
            try:
                y = call()
                found.append(y.tolist())
                if y.requires_grad:
                    found.append(t.autograd.grad(y.sum(), x)[0].tolist())
            except (IndexError, TypeError) as error:
                found.append(str(error))
        return found

    assert program(gradtape) == program(pytest.importorskip("torch"))


MODULES = """
aten.linalg_inv(x)
aten.linalg_norm(x, 1, [0], keepdim=True)
aten.linalg_solve.default(x, x[0])
aten.fft_fft2(x)
aten.fft_rfft(x, n=3)
aten.special_erf(x)
aten.special_logit(x, 0.1)
aten.linear(x, x, x[0])
aten.pad(x, [1, 1], "constant", 2.0)
aten.log_sigmoid(x)
aten.relu6(x * 9)
str(aten.linalg_inv.default)
aten.linalg_nothing
aten.fft
"""


@pytest.mark.parametrize("line", MODULES.strip().splitlines())
def test_aten_has_the_functions_of_modules(line: str):
    check_line(line, "aten, x = t.ops.aten, t.tensor([[0.5, 0.25], [0.125, 1.0]])")


def test_functions_of_tensors_have_an_index_for_every_dimension():
    x = gradtape.ones(2, 3)
    with pytest.raises(TypeError, match="expected Tensor as element 0"):
        x.index_put([None, gradtape.tensor([0])], gradtape.tensor(1.0))
