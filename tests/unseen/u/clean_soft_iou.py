"""Segmentation by a soft IoU of probabilities."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(100):
    mask = (torch.nn.functional.avg_pool2d(torch.rand(8, 1, 20, 20), 5, 1, 2) > 0.5).float()
    image = mask + 0.3 * torch.randn_like(mask)
    p = net(image).sigmoid()
    both = (p * mask).sum((1, 2, 3))
    either = (p + mask - p * mask).sum((1, 2, 3))
    loss = -((both + 1) / (either + 1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("IoU", -loss.item())
