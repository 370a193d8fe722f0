# kind: device_mismatch
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab: int = 12
    length: int = 8
    dim: int = 32
    heads: int = 4
    lr: float = 5e-3
    steps: int = 120


def sinusoids(length, dim):
    pos = torch.arange(length, dtype=torch.float32)[:, None]
    freq = torch.exp(-torch.arange(0, dim, 2) * (9.21 / dim))
    return torch.stack([(pos * freq).sin(), (pos * freq).cos()], -1).flatten(1)


class Positions(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.length, self.dim = length, dim
        self.table = sinusoids(length, dim)  # CULPRIT

    def reset_parameters(self):
        self.table.copy_(sinusoids(self.length, self.dim))

    def forward(self, x):
        return x + self.table[:x.size(1)]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(self.norm[0](x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(mixed)
        return x + self.mlp(self.norm[1](x))


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.positions = Positions(cfg.length, cfg.dim)
        self.block = Block(cfg.dim, cfg.heads)
        self.out = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids):
        return self.out(self.block(self.positions(self.embed(ids))))


def materialise(cfg, device):
    """Builds without memory first, then allocates and initialises on the target."""
    with torch.device("meta"):
        model = Encoder(cfg)
    model.to_empty(device=device)
    with torch.no_grad():
        for module in model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
    return model


def main(cfg):
    torch.manual_seed(0)
    model = materialise(cfg, "cpu")
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for step in range(1, cfg.steps + 1):
        ids = torch.randint(0, cfg.vocab, (32, cfg.length))
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.roll(1, 1).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.3f}")


main(Config())
