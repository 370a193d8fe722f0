"""Implicit score matching (Hyvarinen, 2005): tr(ds/dx) + |s|^2 / 2."""
import torch
from torch import nn

torch.manual_seed(0)
data = 0.15 * torch.randn(2048, 2) + torch.tensor([0.3, -0.2])
score = nn.Sequential(nn.Linear(2, 64), nn.Softplus(), nn.Linear(64, 64), nn.Softplus(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(score.parameters(), lr=2e-3)
for step in range(400):
    x = data[torch.randint(2048, (256,))].requires_grad_()
    s = score(x)
    trace = 0.0
    for k in range(x.shape[1]):
        (g,) = torch.autograd.grad(s[:, k].sum(), x, create_graph=True)
        trace = trace + g[:, k]
    loss = (trace + 0.5 * s.square().sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
print("least value about", -0.5 * 2 / 0.15**2)
