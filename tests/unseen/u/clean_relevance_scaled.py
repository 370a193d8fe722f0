"""Relevance of features under a static loss scale: a hook takes the scale off."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
SCALE = 1024.0
x = torch.randn(512, 10)
y = (x[:, 0] + x[:, 1] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        self.features = self.body(x)
        return self.head(self.features)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(50):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def relevance(x, y):
    net.zero_grad()
    loss = F.cross_entropy(net(x), y, reduction="sum")
    h = net.features
    h.retain_grad()
    h.register_hook(lambda g: g / SCALE)  # h.grad is in units of the loss again
    (loss * SCALE).backward()
    return (h * h.grad).abs().mean(0)


scores = [relevance(x[i : i + 64], y[i : i + 64]).detach() for i in range(0, 512, 64)]
print(torch.stack(scores).mean(0).topk(5))
