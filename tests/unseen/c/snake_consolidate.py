"""GitHub issue (continual learning repo), "EWC / L2-SP penalty is always exactly 0"
Symptom: forgetting is as bad with lambda=1000 as with 0.
EXPECT: runs
TRUTH: The anchor keeps p.data, which shares memory with the parameter and moves with it. Store p.detach().clone()."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Anchor:
    def __init__(self, model, strength):
        self.strength = strength
        self.model = model
        self.old = {}

    def consolidate(self):
        for n, p in self.model.named_parameters():
            self.old[n] = p.data  # CULPRIT

    def penalty(self):
        terms = [(p - self.old[n]).pow(2).sum() for n, p in self.model.named_parameters() if n in self.old]
        return self.strength * sum(terms) if terms else torch.zeros(())


def task(w):
    x = torch.randn(200, 5)
    return x, (x @ w > 0).float().unsqueeze(1)


def fit(model, anchor, x, y, steps=150):
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        reg = anchor.penalty()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y) + reg
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item(), float(reg)


model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
anchor = Anchor(model, 2.0)
w = torch.randn(5)
a, b = task(w), task(-w)
print("task A", fit(model, anchor, *a))
anchor.consolidate()
loss, reg = fit(model, anchor, *b)
acc = ((model(a[0]) > 0).float() == a[1]).float().mean().item()
print("loss", loss, "penalty", reg, "accuracy on A", acc)
