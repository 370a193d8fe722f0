"""Feature visualisation: the image in [0, 1] that a channel of a frozen net likes most."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
)
net.requires_grad_(False).eval()
code = nn.Parameter(0.01 * torch.randn(1, 1, 16, 16))
optimizer = torch.optim.Adam([code], lr=0.05)
for step in range(100):
    image = torch.sigmoid(code)
    dy, dx = torch.randint(-2, 3, (2,)).tolist()
    shifted = image.roll((dy, dx), (2, 3))
    loss = -net(shifted)[:, 3].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("activation", -loss.item())
