"""Ops are exported, and onnxruntime gives the same, also at another batch size."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as torch
import gradtape.nn.functional as F
from gradtape import nn

pytest.importorskip("onnxruntime")

from ._onnx_runs import assert_same, exported

# Over x (n, 3, 4) floats, p the same but positive, n ints from 1, b bools, w (4, 5).
EXPRESSIONS = """
x + 1
x + n
1 - x
x - n
2 / p
x / 2
x / n
n // 2
x // n
(0 - n) // 2
x % 2
n % 3
(0 - n) % 3
torch.fmod(x, 2)
x ** 2
2 ** x
p ** x
p ** 0.5
x ** 3
x.add(x, alpha=2)
x.sub(x, alpha=2)
-x
x == 1
x != x
x < n
b & b
~b
b | b
b ^ b
n & 3
b * x
b + b
x.sum()
x.sum(1)
b.sum(1)
n.sum()
x.mean((1, 2), keepdim=True)
x.mean()
x.mean(0)
x.max()
x.max(1)
x.min(dim=1)
x.argmax(1)
x.argmin(-1)
x.amax(1)
x.var(1)
x.std()
x.var(0, unbiased=False)
torch.var_mean(x, 1)
x.norm()
x.norm(dim=1)
x.norm(p=3, dim=1)
torch.linalg.norm(x, dim=-1)
torch.logsumexp(x, 1)
x.prod(1)
x.cumsum(1)
b.any(1)
b.all()
x.topk(2)
x.sort(1)
x.sort(1, descending=True)
x.argsort(1)
x @ x.transpose(1, 2)
x @ w
x[0] @ x[0].t()
x[0, 0] @ x[0, 0]
torch.einsum("bij,bkj->bik", x, x)
torch.einsum("bij,jk->bik", x, w)
torch.einsum("bij->b", x)
torch.bmm(x, x.mT)
torch.addmm(x[0], torch.ones(3, 5), torch.ones(5, 4))
x.view(-1)
x.view(-1, 4)
x.flatten(1)
x.flatten()
x.squeeze(1)
x.unsqueeze(1)
x.permute(2, 0, 1)
x.expand(5, -1, 3, 4)
x.repeat(1, 2, 1)
x.repeat(2, 1, 1)
x.repeat_interleave(2, 1)
torch.cat([x, x], 1)
torch.cat([x, x * 2], 0)
torch.stack([x, x], 1)
x.split(2, 1)
x.chunk(2, -1)
x.unbind(1)
x[:, 1]
x[:, -1]
x[-1]
x[1:]
x[:-1]
x[:, 1:3]
x[:, ::2]
x[..., None]
x[:, [0, 2]]
x[:, [0, 2], [1, 3]]
x[[0, 1], :, [1, 3]]
x[n[:, :, 0] % 2]
x[n[:, 0] % 2, n[:, 1] % 3]
torch.gather(x, 2, n % 4)
torch.where(b, x, 0.0)
torch.where(b, x, x)
x.masked_fill(b, -1000000000.0)
x.masked_fill(b, float("-inf"))
x.clamp(0, 1)
x.clamp(min=0)
x.clamp_min(x * 2)
x.clip(max=2)
torch.maximum(x, x * 2)
torch.minimum(x, n)
x.tril()
x.triu(1)
x.roll(1, 1)
x.roll(-1, 0)
x.roll(2)
x.flip(1)
x.flip(0, 2)
x.abs().sqrt()
p.rsqrt().log()
x.exp().sin().cos().tan()
x.round()
x.floor()
x.ceil()
x.trunc()
x.frac()
x.sign()
x.reciprocal()
x.erf()
x.erfc()
x.expm1()
p.log1p()
p.log2()
p.log10()
x.exp2()
x.tanh().atanh()
x.sinh()
x.cosh()
x.asinh()
x.long()
x.to(torch.float64)
x.type_as(n)
n.float()
x.detach()
x.data * 2
x.clone()
x.contiguous()
x.mT
torch.zeros_like(x) + x
x.new_zeros(4, 1, 1, 1) + x
torch.ones(x.shape[0], 1, 1) * x
torch.zeros(x.shape[0], 2)
torch.full((x.size(0),), 2.0)
torch.arange(x.shape[0])
torch.arange(x.shape[0]) * 2 + 1
torch.arange(0, x.shape[0] * 2, 2)
torch.arange(x.shape[0], dtype=torch.float32).unsqueeze(1) * x[:, 0]
torch.eye(3) @ x
torch.tril(torch.ones(x.shape[0], x.shape[0]))
x / x.shape[0]
x * x.size(0) ** 2
x.sum(0) / len(x)
x * torch.tensor(x.shape[0])
torch.tensor([1.0, 2, 3, 4]) * x
F.normalize(x)
F.one_hot(n % 7, 8)
F.scaled_dot_product_attention(x, x, x)
F.scaled_dot_product_attention(x, x, x, is_causal=True)
F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(3, 3).tril().bool())
F.mse_loss(x, x * 2)
F.interpolate(x, scale_factor=2.0)
x.index_select(1, torch.tensor([0, 2]))
x.scatter(1, n % 3, x)
x.lerp(x * 2, 0.5)
torch.addcmul(x, x, x)
torch.addcdiv(x, x, p, value=2)
torch.outer(x[0, 0], x[0, 1])
torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")
torch.cdist(x, x * 2)
x.half().float()
x.swapaxes(0, 1)
x.movedim(0, 1)
x.tile(2, 1)
x.diagonal(dim1=1, dim2=2)
x.bool()
x.logical_not()
torch.logical_and(x > 0, n > 3)
x.isnan()
x.isinf()
torch.isfinite(x)
x.unfold(1, 2, 1)
x.narrow(1, 0, 2)
x.narrow(0, 1, x.size(0) - 1)
x.expand_as(x)
x.view_as(x)
torch.tensordot(x, w, 1)
F.pad(x, (1, 1))
F.pad(x, (1, 1, 0, 2), value=2.0)
F.pad(x, (1, 1), mode="reflect")
torch.softmax(x, 1, dtype=torch.float64)
torch.rsub(x, 2)
F.gelu(x)
F.linear(x, torch.ones(2, 4), torch.ones(2))
torch.deg2rad(x)
x.square()
x.mul(2).add_(x).relu_()
torch.chunk(x, 3, 1)
torch.hstack([x, x])
x.float().matmul(w).softmax(-1)
x.amax((1, 2))
torch.count_nonzero(b, 1)
x.masked_fill(~b, 0).sum(-1)
torch.nn.functional.conv2d(x[:, None], torch.ones(1, 1, 2, 2))
x.mean(-1, keepdim=True) + x.std(-1, keepdim=True)
torch.split(x, [1, 2], 1)
x.view(x.size(0) * 3, 4)
x.view(x.size(0) * 3 // 3, 12)
x.reshape(x.shape[0], 2, 6).transpose(0, 1).reshape(2, -1)
x.sum((0, 1))
torch.bitwise_and(n, 1)
x.select(0, 0)
x.diff()
torch.atan2(x, x)
torch.hypot(x, x)
x.logit()
torch.vstack([x, x])
F.grid_sample(x[:, None], x[:, :, :2][:, None], align_corners=False)
F.layer_norm(x, (4,))
F.glu(x)
torch.sigmoid_(x * 1)
x.softmax(0)
""".strip().splitlines()


class Expression(nn.Module):
    """Computes one expression of x and n."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.code = compile(text, "<expression>", "eval")
        self.register_buffer("w", torch.arange(20.0).reshape(4, 5) / 10)

    def forward(self, x: Any, n: Any) -> Any:
        names = {"x": x, "n": n, "b": x > 0, "p": x.abs() + 0.5, "w": self.w}
        return eval(self.code, {"torch": torch, "F": F}, names)


def numbers(batch: int) -> tuple[Any, Any]:
    torch.manual_seed(batch)
    x = torch.randn(batch, 3, 4)
    return x, torch.arange(1, x.numel() + 1).reshape(x.shape)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_runs_in_onnxruntime_at_two_batch_sizes(text: str):
    model = Expression(text)
    program = exported(model, numbers(2), {0: "batch"})
    assert_same(program, model, numbers(2), numbers(4))


STATIC = """
torch.baddbmm(x, x, torch.ones(2, 4, 4))
x.reshape(3, 8).t()
x[[0, 1], :, [1, 3]]
x[n[:, 0] % 2, n[:, 1] % 3]
torch.tril(torch.ones(3, 3)) @ x
x.roll(3)
""".strip().splitlines()


@pytest.mark.parametrize("text", STATIC)
def test_an_expression_of_fixed_shape_runs_in_onnxruntime(text: str):
    model = Expression(text)
    assert_same(exported(model, numbers(2)), model, numbers(2))
