"""Sobol sequences are PyTorch's, scrambled ones too."""

from __future__ import annotations

import pytest

from .lines import check_line

SETUP = "S = t.quasirandom.SobolEngine"
LINES = """
S(1).draw() * 1
S(5).draw(0)
e = S(5); [e.draw() * 1, e.draw(3), e.draw(), e.draw(130), e.num_generated, e.quasi]
e = S(300); [e.draw(9)[:, ::50], e.sobolstate[::50]]
e = S(3); [e.fast_forward(7) is e, e.draw(2), e.fast_forward(1), e.draw(4)][1::2]
e = S(3); e.fast_forward(1); e.draw(3)
e = S(3); e.draw(5); [e.reset() is e, e.draw(3)]
e = S(4, scramble=True, seed=3); [e.shift, e.sobolstate, e.draw(9), repr(e)]
e = S(2, scramble=True); [e.draw(3, dtype=t.float64), e.reset().draw(3), t.rand(2)]
e = S(2); o = t.empty(7); [e.draw(3, out=o) is o, o]
e = S(3); [e.draw_base2(2), e.draw_base2(2), e.num_generated]
e = S(3); e.draw(3); e.draw_base2(3)
S(21201).draw(3)[:, -3:]
S(0)
S(21202)
[S.MAXBIT, S.MAXDIM, repr(S(2)), repr(S(2, True, 5))]
S(2).draw(2, dtype=t.float16)
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_sobol_sequences_are_those_of_pytorch(line: str):
    check_line(line, SETUP)
