"""discuss.pytorch.org, "Own spectral normalisation with power iteration buffers in no_grad"
Symptom: none, asker asks if sigma must have a gradient although u and v have not.
EXPECT: runs
TRUTH: Correct. u and v are constants of the power iteration, sigma = u W v is computed from the parameter with gradient; the buffers are cloned
so that a second forward before backward does not disturb the graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SNLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) * 0.5)
        self.bias = nn.Parameter(torch.zeros(o))
        self.register_buffer("u", F.normalize(torch.randn(o), dim=0))
        self.register_buffer("v", F.normalize(torch.randn(i), dim=0))

    def sigma(self):
        with torch.no_grad():
            for _ in range(2):
                self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))
                self.u.copy_(F.normalize(self.weight @ self.v, dim=0))
        u, v = self.u.clone(), self.v.clone()
        return torch.dot(u, self.weight @ v)

    def forward(self, x):
        return F.linear(x, self.weight / self.sigma(), self.bias)


net = nn.Sequential(SNLinear(2, 32), nn.ReLU(), SNLinear(32, 32), nn.ReLU(), SNLinear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(250):
    pos, neg = torch.randn(64, 2) * 0.3 + 1.5, torch.randn(64, 2) * 0.3 - 1.5
    a, b = net(pos), net(neg)
    loss = F.softplus(-a).mean() + F.softplus(b).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 80 == 0:
        print(it, loss.item())
x = torch.randn(200, 2)
y = x + 0.01 * torch.randn_like(x)
lip = ((net(x) - net(y)).norm(dim=1) / (x - y).norm(dim=1)).max().item()
print("loss", loss.item(), "largest slope", lip)
