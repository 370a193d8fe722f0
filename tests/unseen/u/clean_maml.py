"""MAML with one inner step (momentum optional), evaluated with ten."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def task():
    amplitude, phase = torch.rand(2) * torch.tensor([4.9, 3.1]) + torch.tensor([0.1, 0.0])
    x = torch.rand(20, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


def adapt(x, y, steps, lr=0.01, momentum=0.9, create_graph=True):
    fast = dict(net.named_parameters())
    velocity = {k: torch.zeros_like(p) for k, p in fast.items()}
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
        velocity = {k: momentum * v + g for (k, v), g in zip(velocity.items(), grads)}
        fast = {k: p - lr * velocity[k] for k, p in fast.items()}
    return fast


for step in range(80):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(4):
        x, y, qx, qy = task()
        fast = adapt(x, y, steps=1)
        total = total + F.mse_loss(functional_call(net, fast, (qx,)), qy)
    (total / 4).backward()
    optimizer.step()
scores = []
for _ in range(10):
    x, y, qx, qy = task()
    fast = adapt(x, y, steps=10, create_graph=False)
    with torch.no_grad():
        scores.append(F.mse_loss(functional_call(net, fast, (qx,)), qy).item())
print("after ten steps", sum(scores) / len(scores))
