"""discuss.pytorch.org, "Siamese net: one module called twice, do the gradients of both branches count?"
Symptom: none, asker thinks two copies are needed.
EXPECT: runs
TRUTH: Correct. The same encoder object is used for both inputs on purpose and its gradients add up."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        shared = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
        self.left = shared
        self.right = shared

    def forward(self, a, b):
        return (self.left(a) - self.right(b)).pow(2).sum(1)


def contrastive(d2, same, margin=1.0):
    far = F.relu(margin - (d2 + 1e-9).sqrt()).pow(2)
    return torch.where(same, d2, far).mean()


proto = torch.randn(6, 8)


def pairs(n=96):
    i, j = torch.randint(0, 6, (2, n))
    half = torch.rand(n) < 0.5
    j = torch.where(half, i, j)
    return proto[i] + 0.4 * torch.randn(n, 8), proto[j] + 0.4 * torch.randn(n, 8), i == j


net = Siamese()
assert len(list(net.parameters())) == 4
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(200):
    a, b, same = pairs()
    d2 = net(a, b)
    loss = contrastive(d2, same)
    opt.zero_grad()
    loss.backward()
    opt.step()
acc = ((d2 < 0.25) == same).float().mean().item()
print("loss", loss.item(), "pair accuracy", acc)
