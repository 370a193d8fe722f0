"""Wasserstein critic that tells measured sea surface temperature profiles from simulated ones.

TRUTH: the critic rescales its weights in place inside forward, and the loss calls forward twice, so the second call changes weights that the first call's graph saved: "modified by an inplace operation"; rescale after the optimizer step instead.
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)


class Critic(nn.Module):
    def __init__(self, depth_levels, hidden=32, bound=1.0):
        super().__init__()
        self.bound = bound
        self.layers = nn.ModuleList([
            nn.Linear(depth_levels, hidden),
            nn.Linear(hidden, hidden),
            nn.Linear(hidden, 1),
        ])

    @torch.no_grad()
    def project(self):
        for layer in self.layers:
            norm = torch.linalg.matrix_norm(layer.weight, ord=2)
            layer.weight.div_(torch.clamp(norm / self.bound, min=1.0))

    def forward(self, profile):
        h = profile
        for layer in self.layers[:-1]:
            h = nn.functional.leaky_relu(layer(h), 0.2)
        return self.layers[-1](h).squeeze(-1)


class CriticTrainer:
    def __init__(self, critic, lr):
        self.critic = critic
        self.opt = torch.optim.RMSprop(critic.parameters(), lr=lr)

    def step(self, measured, simulated):
        gap = self.critic(measured).mean() - self.critic(simulated).mean()
        self.opt.zero_grad()
        (-gap).backward()
        self.opt.step()
        self.critic.project()
        return gap.item()


def profiles(n, levels, mixed_layer):
    z = np.linspace(0, 1, levels)
    top = np.random.normal(1.0, 0.1, size=(n, 1))
    t = top / (1 + np.exp((z - mixed_layer) * 12)) + 0.05 * np.random.randn(n, levels)
    return torch.tensor(t, dtype=torch.float32)


if __name__ == "__main__":
    trainer = CriticTrainer(Critic(depth_levels=24), lr=2e-3)
    for it in range(120):
        gap = trainer.step(profiles(64, 24, 0.35), profiles(64, 24, 0.55))
        if it % 30 == 0 or it == 119:
            print(f"iteration {it:3d}  estimated distance {gap:.4f}")
