"""Energy-based model of galaxy colours, trained with short Langevin chains that start from a replay buffer.

TRUTH: after the first Langevin step x is detached and no longer requires grad, so the second step's autograd.grad fails with "does not require grad and does not have a grad_fn"; make x require grad again after each step.
"""
import random

import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self, dim=2, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1) + 0.05 * x.pow(2).sum(-1)


class Buffer:
    def __init__(self, capacity=2000, dim=2):
        self.items = [torch.randn(dim) for _ in range(200)]
        self.capacity = capacity

    def start(self, n, fresh=0.05):
        rows = [torch.randn(2) * 2 if random.random() < fresh else random.choice(self.items) for _ in range(n)]
        return torch.stack(rows)

    def push(self, x):
        self.items.extend(x.unbind(0))
        del self.items[:-self.capacity]


def langevin(energy, x, steps=10, size=0.1, noise=0.05):
    x = x.clone().requires_grad_(True)
    for _ in range(steps):
        slope, = torch.autograd.grad(energy(x).sum(), x)
        x = (x - size * slope.clamp(-1, 1) + noise * torch.randn_like(x)).detach()  # CULPRIT
    return x.detach()


def colours(n):
    blue = torch.randn(n, 2) * 0.2 + torch.tensor([1.0, 0.5])
    red = torch.randn(n, 2) * 0.2 + torch.tensor([-1.0, -0.5])
    return torch.where(torch.rand(n, 1) < 0.5, blue, red)


def main():
    torch.manual_seed(6)
    random.seed(6)
    data = colours(2000)
    energy, buffer = Energy(), Buffer()
    opt = torch.optim.Adam(energy.parameters(), lr=2e-3)
    for step in range(150):
        real = data[torch.randint(0, len(data), (64,))]
        fake = langevin(energy, buffer.start(64))
        buffer.push(fake)
        e_real, e_fake = energy(real), energy(fake)
        loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real.pow(2) + e_fake.pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, "real", e_real.mean().item(), "fake", e_fake.mean().item())
    with torch.no_grad():
        print("energy of data", energy(data).mean().item(), "of far points", energy(3 * torch.randn(500, 2)).mean().item())


if __name__ == "__main__":
    main()
