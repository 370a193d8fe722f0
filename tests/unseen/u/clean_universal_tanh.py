"""A universal adversarial perturbation of a loaded model, kept within +-eps."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
EPS = 0.3
x = torch.randn(512, 16)
y = (x[:, :4].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
with torch.no_grad():  # weights as they come from elsewhere
    net[0].weight.zero_()
    net[0].weight[:, :4] = torch.randn(32, 1)
    net[2].weight[1] = net[0].weight[:, 0]
    net[2].weight[0] = -net[0].weight[:, 0]
net.requires_grad_(False).eval()
print("clean", (net(x).argmax(1) == y).float().mean().item())
raw = nn.Parameter(torch.zeros(16))
attack = torch.optim.Adam([raw], lr=0.1)
for step in range(60):
    i = torch.randint(512, (128,))
    delta = EPS * torch.tanh(raw)
    loss = -F.cross_entropy(net(x[i] + delta), y[i])
    attack.zero_grad()
    loss.backward()
    attack.step()
print("attacked", (net(x + delta).argmax(1) == y).float().mean().item())
