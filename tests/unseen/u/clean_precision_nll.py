"""Heteroscedastic regression with a learned precision."""
import math
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.rand(1024, 1) * 2 - 1
y = 0.5 * x + 0.005 * (1 + x.abs()) * torch.randn_like(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(1, 1)
        self.tau = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.mean(x), F.softplus(self.tau(x)).square() + 1e-4


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(500):
    i = torch.randint(1024, (128,))
    mu, precision = net(x[i])
    error = 0.5 * (precision * (y[i] - mu).square()).mean()
    log_scale = 0.5 * torch.log(precision).mean()
    nll = error - log_scale + 0.5 * math.log(2 * math.pi)
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, nll.item())
print("sigma", precision.detach().rsqrt().mean().item())
