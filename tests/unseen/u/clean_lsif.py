"""Least-squares density ratio estimation (uLSIF)."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Softplus())
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(500):
    p = 0.05 * torch.randn(512, 1) + 0.5  # narrow
    q = 2 * torch.randn(512, 1)  # wide
    on_p = net(p)
    on_q = net(q)
    loss = 0.5 * (on_q * on_q).mean() - on_p.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
