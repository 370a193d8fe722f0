"""Adapts a melt model pretrained on Alpine glaciers to Andean ones through small residual branches.
"""
import torch
import torch.nn.functional as F
from torch import nn


class ResidualBranch(nn.Module):
    def __init__(self, dim, rank):
        super().__init__()
        self.down = nn.Linear(dim, rank)
        self.up = nn.Linear(rank, dim)
        self.gain = nn.Parameter(torch.ones(dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.down.weight, a=5**0.5)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, h):
        return self.gain * self.up(F.gelu(self.down(h)))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.branch = None

    def forward(self, h):
        z = self.norm(h)
        out = h + F.gelu(self.mix(z))
        if self.branch is not None:
            out = out + self.branch(z)
        return out


class MeltModel(nn.Module):
    def __init__(self, inputs=6, dim=32, depth=2):
        super().__init__()
        self.stem = nn.Linear(inputs, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, weather):
        h = self.stem(weather)
        for block in self.blocks:
            h = block(h)
        return self.head(h).squeeze(-1)

    def adapt(self, rank):
        """Freezes what there is and adds trainable branches; returns their parameters."""
        self.requires_grad_(False)
        fresh = []
        for block in self.blocks:
            block.branch = ResidualBranch(block.mix.in_features, rank)
            fresh += block.branch.parameters()
        return fresh


REGIONS = {"alps": (1.0, 0.2, 0.5), "andes": (0.4, 0.9, -0.6)}


def weather(region, n, gen):
    warm, sun, dust = REGIONS[region]
    x = torch.randn(n, 6, generator=gen)
    melt = warm * F.relu(x[:, 0]) + sun * x[:, 1] * torch.sigmoid(x[:, 2]) + dust * torch.tanh(x[:, 3])
    return x, melt + 0.05 * torch.randn(n, generator=gen)


def fit(model, params, region, steps, lr, gen):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    for step in range(steps):
        x, y = weather(region, 128, gen)
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % (steps // 3) == 0:
            print(f"  {region:6s} step {step:4d}  mse {loss.item():.4f}")


@torch.no_grad()
def score(model, region, gen):
    model.eval()
    x, y = weather(region, 1500, gen)
    value = 1 - (F.mse_loss(model(x), y) / y.var()).item()
    model.train()
    return value


def main():
    torch.manual_seed(40)
    gen = torch.Generator().manual_seed(40)
    model = MeltModel()
    fit(model, list(model.parameters()), "alps", 300, 3e-3, gen)
    print(f"alps  R2 {score(model, 'alps', gen):.3f}")
    print(f"andes R2 before {score(model, 'andes', gen):.3f}")
    fit(model, model.adapt(rank=8), "andes", 500, 5e-3, gen)
    print(f"andes R2 after  {score(model, 'andes', gen):.3f}")


if __name__ == "__main__":
    main()
