"""Arguments that functions and layers refuse, in PyTorch's words."""

from __future__ import annotations

import pytest

from .lines import check_line

SETUP = "nn = t.nn; F = t.nn.functional"

DTYPES = """
nn.BatchNorm1d(3)(t.ones(2,3).double())
nn.BatchNorm1d(3).eval()(t.ones(2,3).double())
nn.BatchNorm1d(3).double()(t.ones(2,3))
nn.BatchNorm1d(3).double()(t.ones(2,3).half())
nn.BatchNorm1d(3).bfloat16()(t.ones(2,3).half())
nn.BatchNorm1d(3)(t.ones(2,3).half()).dtype
nn.BatchNorm1d(3)(t.ones(2,3).cfloat())
nn.BatchNorm1d(3,affine=False).double()(t.ones(2,3))
F.batch_norm(t.ones(2,3),t.ones(3).double(),t.ones(3).double(),t.ones(3))
F.batch_norm(t.ones(2,3).half(),t.ones(3).double(),t.ones(3).double(),t.ones(3))
F.batch_norm(t.ones(2,3),None,None,t.ones(3),t.ones(3).double(),training=True)
F.instance_norm(t.ones(2,3,4),None,None,t.ones(3),t.ones(3).double())
nn.LayerNorm(3).double()(t.ones(2,3))
nn.LayerNorm(3)(t.ones(2,3).double())
nn.LayerNorm(3).half()(t.ones(2,3))
nn.GroupNorm(1,3).double()(t.ones(2,3))
nn.GroupNorm(1,3)(t.ones(2,3).double())
nn.PReLU().double()(t.ones(2))
F.bilinear(t.ones(2,2),t.ones(2,2).double(),t.ones(2,2,2))
F.bilinear(t.ones(2,2),t.ones(2,2),t.ones(2,2,2),t.ones(2).half())
F.scaled_dot_product_attention(*[t.ones(2,3)]*3,attn_mask=t.ones(2,2).long())
F.scaled_dot_product_attention(*[t.ones(2,3).half()]*3,attn_mask=t.ones(2,2).byte())
F.pad(t.ones(1,2),(1,1),value='x')
F.linear(t.ones(2),None)
F.linear(t.ones(2),t.ones(2,2),3)
nn.Linear(2.5,2)
nn.Embedding(2.5,2)
nn.LayerNorm('a')
nn.BatchNorm1d('a')
nn.Conv2d(1,2,3.5)
"""

LOSSES = """
F.nll_loss(t.ones(2,3),t.ones(2).long(),weight=t.ones(3).double())
F.nll_loss(t.ones(2,3,4,4),t.ones(2,4,4).long(),weight=t.ones(3).half())
F.nll_loss(t.ones(2,3).bfloat16(),t.ones(2).long(),weight=t.ones(3))
F.cross_entropy(t.ones(2,3),t.ones(2).long(),weight=t.ones(3).double())
F.cross_entropy(t.ones(2,3),t.ones(2,3),weight=t.ones(3).double())
F.multi_margin_loss(t.ones(2,3),t.ones(2).long(),weight=t.ones(3).double())
F.binary_cross_entropy_with_logits(t.ones(2),t.ones(2).long())
F.binary_cross_entropy_with_logits(t.ones(2).double(),t.ones(2),reduction='none')
F.soft_margin_loss(t.ones(2),t.ones(2).double(),reduction='none')
F.soft_margin_loss(t.ones(2).long(),t.ones(2))
F.huber_loss(t.ones(2),t.zeros(2).double(),reduction='none')
F.huber_loss(t.ones(2).long(),t.ones(2).double())
F.huber_loss(t.ones(2).long(),t.ones(2).long())
"""

SIZES = """
nn.Unflatten('a',(('x',2),))
nn.ConvTranspose2d(3,4,3,stride=2)(t.ones(1,3,5,5),output_size=(11,13))
F.max_unpool1d(t.ones(2), t.ones(2).long(), 2)
F.group_norm(t.ones(1,6),4)
F.rms_norm(t.ones(2,3),[2])
F.layer_norm(t.ones(2,3),[1,4])
F.binary_cross_entropy_with_logits(t.ones(2),t.ones(2),pos_weight=t.ones(3))
F.binary_cross_entropy_with_logits(t.ones(2,3),t.ones(2,3),weight=t.ones(2))
F.binary_cross_entropy_with_logits(t.ones(2,3),t.ones(2,3),weight=t.ones(4,2,3))
F.soft_margin_loss(t.ones(2,3),t.ones(2,4))
F.soft_margin_loss(t.ones(3),t.ones(2,3))
F.soft_margin_loss(t.ones(2,3),t.ones(3))
nn.GLU(5)(t.ones(4))
F.pad(t.ones(1,2),(-3,0))
F.pad(t.ones(1,4),(-3,-3))
F.pad(t.ones(1,4),(-5,6))
F.pad(t.ones(1,4),(-3,1))
F.pad(t.ones(1,2),(1,1,1,1,1,1))
t.constant_pad_nd(t.ones(1,4),(1,1,1))
t.constant_pad_nd(t.ones(1,4),(1,1,1,1,1,1))
F.linear(t.ones(3),t.ones(4),t.ones(3))
F.linear(t.ones(4,3,3),t.ones(3),t.ones(1))
F.linear(t.ones(4,3,3),t.ones(3),t.tensor(1.))
F.conv2d(t.ones(1,2,3,3),t.ones(2,2,2))
F.conv2d(t.ones(1,2,3,3),t.ones(2,2))
F.conv3d(t.ones(1,2,3,3,3),t.ones(2,2,2,2))
F.conv_transpose2d(t.ones(1,2,3,3),t.ones(2,2,2))
F.conv2d(t.ones(1,2,3,3),t.ones(2,2,2,2),dilation=0)
F.conv_transpose2d(t.ones(1,2,3,3),t.ones(2,2,2,2),dilation=-1)
"""


@pytest.mark.parametrize("line", DTYPES.strip().splitlines())
def test_dtypes(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", LOSSES.strip().splitlines())
def test_dtypes_of_losses(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", SIZES.strip().splitlines())
def test_sizes(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("power", ["float('inf')", "-float('inf')"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lp_pool_with_infinite_powers_takes_an_extreme(dims: int, power: str) -> None:
    shape = (1, 1, *[5] * dims)
    numbers = f"(t.arange({5**dims}.) - 7).reshape{shape}"
    check_line(f"F.lp_pool{dims}d({numbers}, {power}, 2, ceil_mode=True)", SETUP)
