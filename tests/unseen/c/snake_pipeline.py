"""Stack Overflow, "Only the first epoch takes time, loss is the same from epoch 2 on"
Symptom: epoch 1 needs a second, all others nothing; printed loss constant.
EXPECT: runs
TRUTH: The pipeline is a generator that is exhausted after the first epoch, later epochs iterate over nothing. Create it anew in each epoch (or make a
class with __iter__ / a list)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
raw = torch.randn(400, 8)
label = (raw[:, 0] * raw[:, 1] > 0).float()


def scaled(pairs):
    for x, y in pairs:
        yield x * 0.5, y


def batched(x, y, n):
    return list(zip(x.split(n), y.split(n)))


def pipeline():
    return scaled(batched(raw, label, 40))


def run_epoch(net, opt, loader, state):
    for x, y in loader:
        out = net(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        state["loss"] = loss.item()
        state["steps"] += 1


net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
state = {"loss": None, "steps": 0}
loader = pipeline()  # CULPRIT
for epoch in range(60):
    run_epoch(net, opt, loader, state)  # CULPRIT
    if epoch % 20 == 0:
        print(epoch, state)
print("loss", state["loss"], "steps", state["steps"])
