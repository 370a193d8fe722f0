"""Spectral contrastive loss (HaoChen et al., 2021): -2 f(x).f(x+) + (f(x).f(x'))^2."""
import torch
from torch import nn

torch.manual_seed(0)
centers = 3 * torch.randn(16, 12)
net = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 32), nn.ReLU())
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)


def view(x):
    return x + 0.2 * torch.randn_like(x)


for step in range(500):
    x = centers[torch.randint(16, (256,))]
    z1, z2 = net(view(x)), net(view(x))
    attract = 2 * (z1 * z2).sum(1).mean()
    gram = (z1 @ z2.T).square()
    repel = gram[~torch.eye(256, dtype=torch.bool)].mean()
    loss = repel - attract
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
