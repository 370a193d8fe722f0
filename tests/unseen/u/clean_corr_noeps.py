"""A feature whose squared correlation with a target is largest."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(1024, 6)
y = (x[:, 0] * x[:, 1]).tanh() + 0.1 * torch.randn(1024)
net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    i = torch.randint(1024, (256,))
    f, t = net(x[i]).squeeze(1), y[i]
    f, t = f - f.mean(), t - t.mean()
    r2 = (f * t).mean().square() / (f.square().mean() * t.square().mean())
    loss = -r2  # in [-1, 0]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, r2.item())
