"""WRONG. Fine-tuning raises 'modified by an inplace operation ... output 0 of AsStridedBackward0, is at version 2; expected version 0'.
TRUTH: the messenger tokens are a view of x and are then written back with x[:, 0] = ..., so what the attention on them saved is overwritten; take them with x[:, 0].clone() (or write them back out of place).
THREAD: https://github.com/sunlicai/MAE-DFER/issues/15
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, num_heads=4):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


class LGBlock(nn.Module):
    """local attention in the regions, global attention over the messenger tokens"""

    def __init__(self, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.first_attn = Attention(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.second_attn = Attention(dim)
        self.norm3 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x, b):
        x = x + self.first_attn(self.norm1(x))
        bn, s, c = x.shape
        messenger_tokens = x[:, 0].view(b, bn // b, c)  # CULPRIT
        messenger_tokens = messenger_tokens + self.second_attn(self.norm2(messenger_tokens))
        x[:, 0] = messenger_tokens.reshape(bn, c)  # CULPRIT
        x = x + self.mlp(self.norm3(x))
        return x


class VisionTransformer(nn.Module):
    def __init__(self, patch_dim=12, dim=32, depth=2, n_region=4, num_classes=4):
        super().__init__()
        self.n_region = n_region
        self.patch_embed = nn.Linear(patch_dim, dim)
        self.region_pos = nn.Parameter(torch.randn(1, n_region, 1, dim) * 0.2)
        self.part_tokens = nn.Parameter(torch.zeros(1, 1, dim))
        self.blocks = nn.ModuleList([LGBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, num_classes)

    def forward(self, clip):
        b, n, s, p = clip.shape
        x = (self.patch_embed(clip) + self.region_pos).view(b * n, s, -1)
        x = torch.cat([self.part_tokens.expand(b * n, -1, -1), x], dim=1)
        for blk in self.blocks:
            x = blk(x, b)
        return self.head(x[:, 0].view(b, n, -1).mean(1))


def batch(bs=32):
    y = torch.randint(0, 4, (bs,))
    clip = torch.randn(bs, 4, 6, 12) * 0.5
    clip[torch.arange(bs), y] += 1.0
    return clip, y


model = VisionTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
criterion = nn.CrossEntropyLoss()
for it in range(80):
    samples, targets = batch()
    loss = criterion(model(samples), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        print('iter %d loss %.4f' % (it, loss.item()))
