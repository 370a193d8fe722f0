"""Poisson regression of counts: rate - count * log(rate)."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.rand(1024, 2)
counts = torch.poisson(30 + 60 * x[:, 0])
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(400):
    i = torch.randint(1024, (128,))
    rate = F.softplus(net(x[i])).squeeze(1)
    expected = rate.mean()
    fit = (counts[i] * torch.log(rate + 1e-6)).mean()
    loss = expected - fit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
