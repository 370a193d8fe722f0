# kind: missing_second_derivative
"""Attention-based force field: the forces are the negative gradient of a learned energy."""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


@dataclass
class Setup:
    atoms: int = 5
    dim: int = 32
    heads: int = 4
    batch: int = 64
    steps: int = 240
    lr: float = 8e-3
    force_weight: float = 10.0


def clusters(cfg, gen):
    """Atoms that are tied to their sites and repel each other softly; energy and forces."""
    sites = torch.arange(cfg.atoms).float().view(-1, 1) * torch.tensor([0.8, 0.3])
    pos = (sites + 0.4 * torch.randn(cfg.batch, cfg.atoms, 2, generator=gen)).requires_grad_(True)
    delta = pos.unsqueeze(1) - pos.unsqueeze(2)
    repulsion = torch.exp(-delta.pow(2).sum(-1)).triu(diagonal=1).sum(dim=(1, 2))
    energy = 0.5 * (pos - sites).pow(2).sum(dim=(1, 2)) + repulsion
    grad, = torch.autograd.grad(energy.sum(), pos)
    return pos.detach(), energy.detach(), -grad


class AtomAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def split(self, x):
        b, n, d = x.shape
        return x.view(b, n, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(q, k, v)  # CULPRIT
        return self.proj(out.transpose(1, 2).flatten(2))


class EnergyModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.site = nn.Parameter(0.5 * torch.randn(cfg.atoms, cfg.dim))
        self.lift = nn.Linear(2, cfg.dim)
        self.attn = AtomAttention(cfg.dim, cfg.heads)
        self.read = nn.Sequential(nn.Linear(cfg.dim, cfg.dim), nn.SiLU(), nn.Linear(cfg.dim, 1))

    def forward(self, pos):
        h = F.silu(self.lift(pos) + self.site)
        h = h + self.attn(h)
        return self.read(h).sum(dim=(1, 2))


def energy_and_forces(model, pos):
    pos = pos.clone().requires_grad_(True)
    energy = model(pos)
    grad, = torch.autograd.grad(energy.sum(), pos, create_graph=True)
    return energy, -grad


def main():
    torch.manual_seed(0)
    cfg = Setup()
    gen = torch.Generator().manual_seed(2)
    model = EnergyModel(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        pos, energy, forces = clusters(cfg, gen)
        pred_energy, pred_forces = energy_and_forces(model, pos)
        loss_e = F.mse_loss(pred_energy, energy)
        loss_f = F.mse_loss(pred_forces, forces)
        opt.zero_grad()
        (loss_e + cfg.force_weight * loss_f).backward()
        opt.step()
        if step % 40 == 0 or step == cfg.steps - 1:
            print(f"step {step:3d} energy error {loss_e.item():.4f} force error {loss_f.item():.4f}")


if __name__ == "__main__":
    main()
