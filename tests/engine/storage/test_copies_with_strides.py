"""Copies and composed numbers lie as their operands do, whatever their strides."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

SETUP = """
b = t.arange(24.0, dtype=t.float64).view(2, 3, 4) / 24
"""

LAYOUTS = (
    "b",
    "b.transpose(0, 2)",
    "b.mT",
    "b[..., ::2]",
    "b[:, ::2].transpose(0, 2)",
    "b[:, :1].expand(2, 3, 4)",
    "b[:1].transpose(0, 1)",
    "b[None].contiguous(memory_format=t.channels_last)",
    "b[:0]",
)

CALLS = """
t.select_scatter(x, x.select(-1, 0) * 2, -1, 0)
t.slice_scatter(x, x[..., :1] * 2, -1, 0, 1)
t.diagonal_scatter(x, x.diagonal() * 2)
t.complex(x, x)
t.complex(x.contiguous(), x)
t.complex(x, t.ones((), dtype=x.dtype))
t.polar(x, x)
t.view_copy(x, (-1,)) if x.numel() else x
t.view_copy(x, x.shape)
t.view_copy(x, (7,))
t.take_along_dim(x, t.tensor([0, 1]))
t.take_along_dim(x.contiguous(), (x * 0).long())
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("line", CALLS.strip().splitlines())
def test_results_and_their_strides(line: str, layout: str) -> None:
    check_line(f"x = {layout};{line}", SETUP)


@pytest.mark.parametrize("layout", LAYOUTS[:6])
def test_a_copied_view_has_a_derivative_where_no_view_is_possible(layout: str) -> None:
    check_line(
        f"x = ({layout}).detach().requires_grad_(); y = t.view_copy(x, (-1,));"
        "y.backward(t.arange(float(y.numel()), dtype=y.dtype));[y, x.grad, y.grad_fn]",
        SETUP,
    )
