"""VAMPnet (Mardt et al., 2018): maximise the VAMP-2 score, at most the number of outputs."""
import torch
from torch import nn

torch.manual_seed(0)
path = [torch.zeros(2)]
for _ in range(3000):
    p = path[-1]
    force = torch.stack([-4 * (p[0] ** 3 - p[0]), -p[1]])
    path.append(p + 0.05 * force + 0.25 * torch.randn(2))
path = torch.stack(path)
net = nn.Sequential(nn.Linear(2, 32), nn.ELU(), nn.Linear(32, 3))


def inv_sqrt(c):
    values, vectors = torch.linalg.eigh(c + 1e-4 * torch.eye(len(c)))
    return vectors @ torch.diag(values.rsqrt()) @ vectors.T


def vamp2(a, b):
    a, b = a - a.mean(0), b - b.mean(0)
    n = len(a) - 1
    c00, c11, c01 = a.T @ a / n, b.T @ b / n, a.T @ b / n
    return (inv_sqrt(c00) @ c01 @ inv_sqrt(c11)).square().sum()


optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    i = torch.randint(len(path) - 10, (512,))
    score = vamp2(net(path[i]), net(path[i + 10]))
    loss = -score
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, score.item())
