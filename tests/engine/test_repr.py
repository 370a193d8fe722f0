"""What ``repr``, ``str`` and ``format`` write of a tensor."""

from __future__ import annotations

import pytest

from .nn.lines import check_line

SETUP = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
z = t.zeros(2, dtype=t.complex64, requires_grad=True)
i3 = t.arange(6).reshape(2, 3)
"""

SETUP_2 = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
v = t.arange(3.0)
i = t.tensor([0, 2])
"""

LINES = """
f"{t.tensor(3.14159):.2f}"
f"{t.tensor([3.14159])}"
f"{t.tensor([3.14159]):.2f}"
format(t.tensor(3),'d')
str(x)
repr(z)
repr(x.double())
repr(i3)
repr(t.zeros(0,3))
repr(x[0]*2)
repr(t.tensor(2.5))
repr(t.tensor([1e10,1.]))
repr(t.tensor([float('nan'),float('inf')]))
repr(t.zeros(2,dtype=t.bool))
repr(t.arange(2000))
repr(t.tensor([1+2j]))
repr(x.detach())
repr(t.zeros(30,30)).count('...')
format(t.tensor(2),'05d')
format(t.tensor([2]))
"""

MORE = """
str(x), repr(v)
t.tensor(2.5).__format__('.1f')
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_tensors_print_as_in_pytorch(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_more_prints(line: str) -> None:
    check_line(line, SETUP_2)
