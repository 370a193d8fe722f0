"""Deep Ritz: -u'' = f on [0, 1], u = 0 at both ends."""
import torch
from torch import nn

torch.manual_seed(0)
F0 = 40.0


class U(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return x * (1 - x) * self.net(x)  # zero at the ends


u = U()
optimizer = torch.optim.Adam(u.parameters(), lr=3e-3)
for step in range(500):
    x = torch.rand(256, 1, requires_grad=True)
    value = u(x)
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    stored = 0.5 * slope.square().mean()
    work = (F0 * value).mean()
    energy = stored - work
    optimizer.zero_grad()
    energy.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, energy.item())
print("exact", -(F0**2) / 24, "u(1/2)", u(torch.tensor([[0.5]])).item(), F0 / 8)
