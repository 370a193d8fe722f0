"""Stack Overflow, "Label smoothing with scatter_ under no_grad"
Symptom: none, asker fears that no_grad around the targets stops the gradient.
EXPECT: runs
TRUTH: Correct. Only the target distribution is built without gradient and in place; the loss stays connected to the logits."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class LabelSmoothing(nn.Module):
    def __init__(self, classes, smoothing=0.1):
        super().__init__()
        self.c, self.s = classes, smoothing

    def forward(self, logits, y):
        logp = logits.log_softmax(dim=-1)
        with torch.no_grad():
            dist = torch.full_like(logp, self.s / (self.c - 1))
            dist.scatter_(1, y.unsqueeze(1), 1.0 - self.s)
        return torch.mean(torch.sum(-dist * logp, dim=-1))


def spiral(n=90):
    pts, lab = [], []
    for k in range(3):
        r = torch.linspace(0.1, 1, n)
        a = torch.linspace(4 * k, 4 * k + 3, n) + 0.1 * torch.randn(n)
        pts.append(torch.stack([r * a.sin(), r * a.cos()], 1))
        lab.append(torch.full((n,), k))
    return torch.cat(pts), torch.cat(lab)


x, y = spiral()
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
crit = LabelSmoothing(3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(150):
    out = net(x)
    loss = crit(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "acc", (out.argmax(1) == y).float().mean().item())
