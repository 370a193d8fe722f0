"""GitHub issue (timm), "Statistics of activations computed in forward are never used - does it hurt?"
Symptom: none; a second loss and norms are computed with gradient and dropped.
EXPECT: runs
TRUTH: Correct. Dead ends that are only logged do not change the gradients of the loss that is used."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Monitored(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(10, 32)
        self.l2 = nn.Linear(32, 3)
        self.stats = {}

    def forward(self, x):
        h = torch.relu(self.l1(x))
        self.stats["sparsity"] = (h == 0).float().mean()
        self.stats["norm"] = h.norm(dim=1).mean()
        self.stats["weight_l2"] = sum(p.pow(2).sum() for p in self.parameters())
        return self.l2(h)


def metrics(logits, y):
    prob = logits.softmax(1)
    brier = (prob - nn.functional.one_hot(y, 3)).pow(2).sum(1).mean()
    entropy = -(prob * prob.clamp_min(1e-9).log()).sum(1).mean()
    return {"brier": brier, "entropy": entropy, "acc": (logits.argmax(1) == y).float().mean()}


x = torch.randn(240, 10)
y = (x[:, :3] + 0.1 * torch.randn(240, 3)).argmax(1)
model = Monitored()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for i in range(80):
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    log = {**metrics(logits, y), **model.stats}
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 40 == 0:
        print(i, {k: round(float(v), 3) for k, v in log.items()})
print("loss", loss.item())
