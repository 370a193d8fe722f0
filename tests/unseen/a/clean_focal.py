"""GitHub issue (detectron-like repo), "Focal loss: should the modulating factor be detached?"
Symptom: none, asker sees (1 - p) ** gamma computed under no_grad.
EXPECT: runs
TRUTH: Correct variant. The weight is treated as a constant per-sample weight; the cross entropy still gives the gradient."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def focal(logits, target, gamma=2.0, alpha=0.75):
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    with torch.no_grad():
        pt = torch.exp(-ce)
        a = torch.where(target > 0.5, alpha, 1 - alpha)
        weight = a * (1 - pt) ** gamma
    return (weight * ce).sum() / weight.sum().clamp_min(1e-6)


def imbalanced(n=600):
    y = (torch.rand(n) < 0.08).float()
    x = torch.randn(n, 6)
    x[y == 1, :2] += 1.8
    return x, y


class Detector(nn.Module):
    def __init__(self, prior=0.08):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.cls = nn.Linear(32, 1)
        nn.init.constant_(self.cls.bias, float(torch.tensor(prior / (1 - prior)).log()))

    def forward(self, x):
        return self.cls(self.trunk(x)).squeeze(-1)


x, y = imbalanced()
net = Detector()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(150):
    loss = focal(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
p = net(x) > 0
print("loss", loss.item(), "recall", p[y == 1].float().mean().item(), "false pos", p[y == 0].float().mean().item())
