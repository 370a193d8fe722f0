"""Deep CCA (Andrew et al., 2013): the sum of the canonical correlations, maximised."""
import torch
from torch import nn

torch.manual_seed(0)
shared = torch.randn(2048, 2)
a = torch.cat([shared.sin(), torch.randn(2048, 6)], 1)
b = torch.cat([shared**3 / 3, torch.randn(2048, 4)], 1)
f = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
g = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
EYE = 1e-3 * torch.eye(2)


def correlations(u, v):
    u, v = u - u.mean(0), v - v.mean(0)
    n = len(u) - 1
    lu = torch.linalg.cholesky(u.T @ u / n + EYE)
    lv = torch.linalg.cholesky(v.T @ v / n + EYE)
    t = torch.linalg.solve_triangular(lu, u.T @ v / n, upper=False)
    t = torch.linalg.solve_triangular(lv, t.T, upper=False)
    return torch.linalg.svdvals(t)


optimizer = torch.optim.Adam([*f.parameters(), *g.parameters()], lr=3e-3)
for step in range(150):
    i = torch.randint(2048, (512,))
    corr = correlations(f(a[i]), g(b[i]))
    loss = -corr.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(corr.tolist())
