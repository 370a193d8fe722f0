"""WRONG. The halo attention attends to the padding around the image instead of the pixels; the network does not learn anything from the neighbourhood.
TRUTH: masked_fill_(mask, value) fills where mask is True, but mask is True at the valid pixels here; it has to be inverted (~mask) first.
THREAD: https://github.com/lucidrains/halonet-pytorch/issues/4
"""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class HaloAttention(nn.Module):
    def __init__(self, *, dim, block_size, halo_size, dim_head=16, heads=2):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.block_size, self.halo_size = block_size, halo_size
        self.heads, self.dim_head = heads, dim_head
        inner_dim = dim_head * heads
        k = block_size + halo_size * 2
        self.rel_bias = nn.Parameter(torch.zeros(block_size ** 2, k ** 2))
        self.to_q = nn.Linear(dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(dim, inner_dim * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, dim)

    def split_heads(self, t):
        return t.view(t.size(0), t.size(1), self.heads, self.dim_head).transpose(1, 2)

    def unfold_kv(self, t):
        kernel = self.block_size + self.halo_size * 2
        t = F.unfold(t, kernel_size=kernel, stride=self.block_size, padding=self.halo_size)
        return t.view(t.size(0), -1, kernel ** 2, t.size(-1)).permute(0, 3, 2, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        block, halo = self.block_size, self.halo_size
        q_inp = F.unfold(x, block, stride=block).view(b, c, block ** 2, -1).permute(0, 3, 2, 1)
        n = q_inp.size(1)
        kv_inp = self.unfold_kv(x)
        q_inp, kv_inp = q_inp.reshape(b * n, -1, c), kv_inp.reshape(b * n, -1, c)

        q = self.split_heads(self.to_q(q_inp)) * self.scale
        k, v = map(self.split_heads, self.to_kv(kv_inp).chunk(2, dim=-1))
        sim = q @ k.transpose(-1, -2) + self.rel_bias

        mask = torch.ones(1, 1, h, w)
        mask = self.unfold_kv(mask).reshape(n, 1, 1, -1).repeat(b, 1, 1, 1)
        mask = mask.bool()  # CULPRIT
        max_neg_value = -torch.finfo(sim.dtype).max
        sim.masked_fill_(mask, max_neg_value)

        out = sim.softmax(dim=-1) @ v
        out = self.to_out(out.transpose(1, 2).reshape(b, n, block ** 2, -1).flatten(0, 1))
        out = out.view(b, n, block ** 2, c).permute(0, 3, 2, 1).reshape(b, c * block ** 2, n)
        return F.fold(out, (h, w), block, stride=block)


class HaloNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.stem = nn.Conv2d(1, dim, 1)
        self.attn = HaloAttention(dim=dim, block_size=4, halo_size=2)
        self.head = nn.Sequential(nn.Conv2d(dim, dim, 1), nn.GELU(), nn.Conv2d(dim, 1, 1))

    def forward(self, x):
        x = self.stem(x)
        return self.head(self.attn(x) + x)


net = HaloNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(300):
    img = torch.randn(16, 1, 8, 8)
    target = F.pad(img, (1, 0))[..., :-1] + 0.5 * img
    loss = F.mse_loss(net(img), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 59:
        print('step', step, 'loss %.4f' % loss.item())
