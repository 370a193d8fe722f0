"""Stack Overflow, "Self-paced learning: the training set changes each epoch and pseudo labels are rewritten"
Symptom: none.
EXPECT: runs
TRUTH: Correct. Only confident unlabelled samples are added, their labels come from no_grad predictions, and the originals are not altered."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def moons(n):
    y = torch.randint(0, 2, (n,))
    a = 3.14 * torch.rand(n)
    x = torch.stack([a.cos() + y * 1.0, torch.where(y == 0, a.sin(), 0.5 - a.sin())], 1)
    x = torch.where(y[:, None] == 1, torch.stack([1 - a.cos(), 0.5 - a.sin()], 1), x)
    return x + 0.1 * torch.randn(n, 2), y


class PseudoSet:
    def __init__(self, xl, yl, xu):
        self.xl, self.yl, self.xu = xl, yl, xu
        self.x, self.y = xl, yl

    @torch.no_grad()
    def refresh(self, net, threshold):
        p, y = net(self.xu).softmax(1).max(1)
        keep = p > threshold
        self.x = torch.cat([self.xl, self.xu[keep]])
        self.y = torch.cat([self.yl, y[keep]])
        return int(keep.sum())


xl, yl = moons(30)
xu, yu = moons(500)
data = PseudoSet(xl, yl, xu)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(60):
    for idx in torch.randperm(len(data.x)).split(64):
        loss = F.cross_entropy(net(data.x[idx]), data.y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch >= 20 and epoch % 5 == 0:
        added = data.refresh(net, 0.95)
print("loss", loss.item(), "added", added, "acc", (net(xu).argmax(1) == yu).float().mean().item())
