"""The principal subspace: variance kept by an orthogonal projection, maximised."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal

torch.manual_seed(0)
x = torch.randn(1024, 6) @ torch.diag(torch.tensor([5.0, 3, 1, 1, 1, 0.5])) @ torch.linalg.qr(torch.randn(6, 6))[0]
x = x - x.mean(0)
project = orthogonal(nn.Linear(6, 2, bias=False))
optimizer = torch.optim.Adam(project.parameters(), lr=0.02)
for step in range(200):
    kept = project(x[torch.randint(1024, (256,))]).square().sum(1).mean()
    loss = -kept  # at most the two largest eigenvalues
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(kept.item(), torch.linalg.eigvalsh(x.T @ x / 1024)[-2:].sum().item())
