"""Maximal coding rate reduction (Yu et al., 2020) of normalised features."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
K, D, EPS = 4, 16, 0.1
centers = torch.randn(K, 20)
labels = torch.randint(K, (1024,))
data = centers[labels] + 0.3 * torch.randn(1024, 20)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, D))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)


def rate(z):
    n, d = z.shape
    return 0.5 * torch.logdet(torch.eye(d) + d / (n * EPS**2) * z.T @ z)


for step in range(200):
    i = torch.randint(1024, (256,))
    z = F.normalize(net(data[i]), dim=1)
    y = labels[i]
    whole = rate(z)
    parts = sum((y == k).float().mean() * rate(z[y == k]) for k in range(K))
    loss = parts - whole
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
