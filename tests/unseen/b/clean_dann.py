"""discuss.pytorch.org, "Gradient reversal layer: backward returns -lambda * grad, domain loss rises"
Symptom: none, asker worries since the domain loss does not fall.
EXPECT: runs
TRUTH: Correct. The reversal only flips the sign for the feature extractor; the domain head minimises and the features maximise."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.y = nn.Linear(16, 2)
        self.d = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, lam):
        h = self.f(x)
        return self.y(h), self.d(Reverse.apply(h, lam))


def domain(n, shift):
    x = torch.randn(n, 5)
    y = (x[:, 0] + x[:, 1] > 0).long()
    x[:, 4] += shift
    return x, y


xs, ys = domain(200, 0.0)
xt, yt = domain(200, 3.0)
net = DANN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
dom = torch.cat([torch.zeros(200), torch.ones(200)]).long()
for it in range(200):
    lam = 2 / (1 + 2.718 ** (-5 * it / 200)) - 1
    cls, d = net(torch.cat([xs, xt]), 0.3 * lam)
    task = F.cross_entropy(cls[:200], ys)
    loss = task + F.cross_entropy(d, dom)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", task.item(), "target acc", (net(xt, 0.0)[0].argmax(1) == yt).float().mean().item())
