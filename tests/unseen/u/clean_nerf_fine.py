"""Coarse and fine rendering of a 1d ray field, as in NeRF; fine points drawn by weight."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def field():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def render(net, ray, z):
    points = torch.stack([ray[:, None].expand_as(z), z], -1)
    density, colour = net(points).unbind(-1)
    delta = torch.diff(z, dim=1, append=torch.full((len(z), 1), 1.05))
    alpha = 1 - torch.exp(-F.softplus(density * 10) * delta)
    through = torch.cumprod(torch.cat([torch.ones(len(z), 1), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * through
    return (weights * torch.sigmoid(colour)).sum(1), weights


coarse, fine = field(), field()
optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=2e-3)
for step in range(200):
    ray = torch.rand(128)
    target = 0.5 + 0.4 * torch.sin(6 * ray)
    z = (torch.arange(16) + torch.rand(128, 16)) / 16
    rgb_coarse, weights = render(coarse, ray, z)
    bins = torch.multinomial(weights + 1e-5, 16, replacement=True)
    z_new = z.gather(1, bins) + torch.rand(128, 16) / 16
    z_all = torch.cat([z, z_new], 1).sort(1).values.clamp(max=1.0)
    rgb_fine, _ = render(fine, ray, z_all)
    loss = F.mse_loss(rgb_coarse, target) + F.mse_loss(rgb_fine, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
