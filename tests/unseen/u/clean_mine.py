"""MINE: a lower bound of mutual information, maximised (Belghazi et al., 2018)."""
import math
import torch
from torch import nn

torch.manual_seed(0)
D, RHO, N = 10, 0.95, 256


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 * D, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, x, y):
        return self.net(torch.cat([x, y, x * y], dim=1)).squeeze(1)


def sample(n):
    x = torch.randn(n, D)
    y = RHO * x + math.sqrt(1 - RHO**2) * torch.randn(n, D)
    return x, y


critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(300):
    x, y = sample(N)
    joint = critic(x, y)
    marginal = critic(x, y[torch.randperm(N)])
    mi = joint.mean() - (torch.logsumexp(marginal, 0) - math.log(N))
    loss = -mi
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, mi.item())
true = -0.5 * D * math.log(1 - RHO**2)
print("estimate", mi.item(), "true", true)
