"""GitHub issue (BYOL), "Target network has no gradients and the loss is symmetric with detach on both sides"
Symptom: none.
EXPECT: runs
TRUTH: Correct. Stop-gradient on the target branch and an EMA update of the target are the method; the online net and predictor train."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BYOL(nn.Module):
    def __init__(self, m=0.98):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.m = m

    @torch.no_grad()
    def ema(self):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.data.lerp_(o.data, 1 - self.m)

    def half(self, a, b):
        p = self.predictor(self.online(a))
        with torch.no_grad():
            z = self.target(b)
        return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()

    def forward(self, a, b):
        return self.half(a, b) + self.half(b, a)


x = torch.randn(256, 12)
net = BYOL()
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=2e-3)
for it in range(120):
    a, b = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
    loss = net(a, b)
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.ema()
    if it % 30 == 0:
        print(it, loss.item(), "std", F.normalize(net.online(x), dim=1).std(0).mean().item())
print("loss", loss.item())
