"""GitHub issue (lookahead optimizer), "Slow weights are copied with data.clone and written back into the model"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The slow copy is a clone, the interpolation is done without gradient between steps and both sets stay apart."""
import torch
import torch.nn as nn


class Lookahead:
    def __init__(self, inner, k=5, alpha=0.5):
        self.inner, self.k, self.alpha, self.n = inner, k, alpha, 0
        self.slow = [[p.data.clone() for p in g["params"]] for g in inner.param_groups]

    def zero_grad(self):
        self.inner.zero_grad()

    def step(self):
        self.inner.step()
        self.n += 1
        if self.n % self.k:
            return
        for group, slow in zip(self.inner.param_groups, self.slow):
            for fast, s in zip(group["params"], slow):
                s += self.alpha * (fast.data - s)
                fast.data.copy_(s)


def loss_history(steps):
    history = []
    for _ in range(steps):
        idx = torch.randint(0, len(x), (32,))
        loss = nn.functional.smooth_l1_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(float(loss))
    return history


torch.manual_seed(0)
x = torch.randn(400, 6)
y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 2))
opt = Lookahead(torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9))
h = loss_history(500)
print("loss", sum(h[:20]) / 20, "->", sum(h[-20:]) / 20)
