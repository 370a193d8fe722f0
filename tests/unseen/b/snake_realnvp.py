"""discuss.pytorch.org, "RealNVP: log-likelihood gets better and better but samples are far too wide"
Symptom: with more coupling layers the reported nll is lower than the entropy of the data allows.
EXPECT: runs
TRUTH: log_det is overwritten in the loop over the couplings, only the last layer's determinant counts, so the others can shrink
without cost. Accumulate with +=."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        b = b * s.exp() + t
        y = torch.cat([b, a] if self.flip else [a, b], 1)
        return y, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(i % 2 == 1) for i in range(n)])

    def log_prob(self, x):
        log_det = torch.zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = ld  # CULPRIT
        base = -0.5 * (x ** 2).sum(1) - math.log(2 * math.pi)
        return base + log_det


x = torch.randn(512, 2)
x[:, 1] = 0.5 * x[:, 1] + x[:, 0] ** 2
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=3e-3)
for it in range(250):
    loss = -flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    z = x
    for l in flow.layers:
        z, _ = l(z)
print("loss", loss.item(), "std of z", z.std(0).tolist())
