"""Targets that a loss over classes refuses, in PyTorch's words."""

from __future__ import annotations

import pytest

from .lines import check_line

SETUP = "F = t.nn.functional"

REFUSED = """
F.nll_loss(t.ones(2,2), t.tensor([0,1,2]).int())
F.nll_loss(t.ones(2,2), t.tensor([0,1]).int())
F.nll_loss(t.ones(2,2), t.tensor([0,1]).byte())
F.nll_loss(t.ones(2,2,3), t.zeros(2,4).int())
F.nll_loss(t.ones(2,2,3), t.zeros(3,3).int())
F.nll_loss(t.ones(2,2,3,4), t.zeros(2,3).long())
F.nll_loss(t.ones(2,2,3,4), t.zeros(2,3,5).long())
F.nll_loss(t.ones(2,2,3,4), t.zeros(2,3,4))
F.nll_loss(t.ones(2,2,3,4,5), t.zeros(2,3,4,5).byte())
F.nll_loss(t.ones(2,2,3,4,5), t.zeros(2,3,4,6).long())
F.nll_loss(t.ones(2), t.zeros(3).int())
F.nll_loss(t.ones(2), t.tensor([0,1]))
F.nll_loss(t.ones(2), t.tensor([1]))
F.nll_loss(t.ones(2,2), t.zeros(2,2).long())
F.nll_loss(t.ones(2,2), t.tensor(0))
F.nll_loss(t.ones(2,2), t.tensor([0,7]).byte())
F.cross_entropy(t.ones(2,2), t.tensor([0.,1.]))
F.cross_entropy(t.ones(2,2), t.tensor([0,1]).int())
F.cross_entropy(t.ones(2,3,2), t.ones(2,2).int())
F.multi_margin_loss(t.ones(2,2), t.tensor([0,1]).int())
F.multilabel_margin_loss(t.ones(2,2), t.zeros(2,2))
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_targets(line: str) -> None:
    check_line(line, SETUP)
