"""discuss.pytorch.org, "Kendall uncertainty weighting: log variances all shrink linearly, whatever the task is"
Symptom: the learned task weights drift at constant speed and do not react to the task losses.
EXPECT: runs
TRUTH: math.exp(s) turns the tensor into a float and takes the value out of the graph, so the precision has no gradient and only the + s term does. Use torch.exp(-s)."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class MultiTaskLoss(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(n))

    def precision(self, i):
        return math.exp(-self.s[i])  # CULPRIT

    def forward(self, losses):
        total = 0.0
        for i, l in enumerate(losses):
            total = total + 0.5 * self.precision(i) * l + 0.5 * self.s[i]
        return total


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.Tanh())
        self.a, self.b = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.a(h), self.b(h)


x = torch.randn(256, 5)
ya = x[:, :1] + 0.05 * torch.randn(256, 1)
yb = x[:, 1:2] + 2.0 * torch.randn(256, 1)
net, crit = Net(), MultiTaskLoss(2)
opt = torch.optim.Adam([*net.parameters(), *crit.parameters()], lr=5e-3)
for it in range(600):
    a, b = net(x)
    tasks = [(a - ya).pow(2).mean(), (b - yb).pow(2).mean()]
    loss = crit(tasks)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "log variances", crit.s.tolist(), "task losses", [t.item() for t in tasks])
