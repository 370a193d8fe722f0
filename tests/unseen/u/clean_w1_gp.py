"""W1 between two samples by its dual, with a gradient penalty."""
import torch
from torch import nn

torch.manual_seed(0)
a = torch.randn(2048, 4)
b = torch.randn(2048, 4) + torch.tensor([12.0, 0, 0, 0])
critic = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))


def penalty(x, y):
    t = torch.rand(len(x), 1)
    mid = (t * x + (1 - t) * y).requires_grad_()
    (g,) = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return torch.relu(g.norm(dim=1) - 1).square().mean()  # one-sided


for step in range(300):
    i, j = torch.randint(2048, (2, 128))
    gap = critic(a[i]).mean() - critic(b[j]).mean()
    loss = gap + 10.0 * penalty(a[i], b[j])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, f"W1 ~ {-gap.item():.2f}")
