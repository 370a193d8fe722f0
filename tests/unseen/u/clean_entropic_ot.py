"""Entropic optimal transport by its dual, potentials as networks (Seguy et al., 2018)."""
import torch
from torch import nn

torch.manual_seed(0)
EPS = 2.0
x, y = torch.randn(1024, 2), torch.randn(1024, 2) + torch.tensor([5.0, 0.0])


def potential():
    return nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))


f, g = potential(), potential()
optimizer = torch.optim.Adam([*f.parameters(), *g.parameters()], lr=2e-3)
for step in range(500):
    a, b = x[torch.randint(1024, (128,))], y[torch.randint(1024, (128,))]
    u, v = f(a), g(b).T
    cost = torch.cdist(a, b).square()
    gain = u.mean() + v.mean()
    slack = EPS * torch.exp((u + v - cost) / EPS).mean()
    loss = slack - gain
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, gain.item(), slack.item())
