"""Max-sliced Wasserstein distance: the unit direction that tells two samples apart best."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
a, b = torch.randn(1024, 8), torch.randn(1024, 8)
b[:, 2] *= 4
direction = nn.Parameter(torch.randn(8))
optimizer = torch.optim.Adam([direction], lr=0.05)
for step in range(150):
    theta = direction / direction.norm()
    pa, pb = (a @ theta).sort().values, (b @ theta).sort().values
    distance = (pa - pb).square().mean()
    optimizer.zero_grad()
    (-distance).backward()
    optimizer.step()
print(distance.sqrt().item(), (direction / direction.norm()).abs().argmax().item())
