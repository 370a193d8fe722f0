"""Stack Overflow, "Dictionary of loss functions per task: only the last task is learned"
Symptom: three tasks with own targets, all heads predict the last target.
EXPECT: runs
TRUTH: The lambdas look up the loop variable when they are called, so all of them use the last key. Bind it as a default argument (k=name)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
TASKS = {"height": 0, "weight": 1, "age": 2}


def build_criteria():
    criteria = {}
    for name, col in TASKS.items():
        criteria[name] = lambda out, y: nn.functional.mse_loss(out, y[:, col])  # CULPRIT
    return criteria


class Heads(nn.Module):
    def __init__(self, d=6, w=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, w), nn.ReLU())
        self.heads = nn.ModuleDict({k: nn.Linear(w, 1) for k in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return {k: m(h).squeeze(1) for k, m in self.heads.items()}


x = torch.randn(256, 6)
y = torch.stack([x[:, 0], x[:, 1] - x[:, 2], x[:, 3]], 1)
net, criteria = Heads(), build_criteria()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(150):
    out = net(x)
    loss = sum(criteria[k](out[k], y) for k in TASKS)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
for k, c in TASKS.items():
    print(k, "mse to own target", (out[k] - y[:, c]).pow(2).mean().item())
