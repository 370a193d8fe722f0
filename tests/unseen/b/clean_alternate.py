"""Stack Overflow, "Two players, one backward each, G's backward also fills D's grads - problem?"
Symptom: none, D.grad is not None after the generator's backward.
EXPECT: runs
TRUTH: Correct. The generator's backward leaves gradients in D, but D's are zeroed before D's own backward, so they are never used."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
dis = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opts = {"g": torch.optim.Adam(gen.parameters(), 1e-3, betas=(0.5, 0.9)),
        "d": torch.optim.Adam(dis.parameters(), 1e-3, betas=(0.5, 0.9))}


def optimise(name, loss, keep=False):
    opts[name].zero_grad()
    loss.backward(retain_graph=keep)
    opts[name].step()
    return float(loss.detach())


def hinge_d(real, fake):
    return F.relu(1 - dis(real)).mean() + F.relu(1 + dis(fake)).mean()


means = []
for it in range(500):
    real = 1.5 + 0.4 * torch.randn(64, 1)
    fake = gen(torch.randn(64, 3))
    ld = optimise("d", hinge_d(real, fake.detach()))
    lg = optimise("g", -dis(fake).mean())
    means.append(fake.detach().mean().item())
    if it % 150 == 0:
        print(it, ld, lg, means[-1])
print("loss", ld, lg, "mean of the last 50", sum(means[-50:]) / 50)
