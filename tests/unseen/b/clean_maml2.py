"""discuss.pytorch.org, "Second order MAML with create_graph - grads of fast weights are None, is it ok?"
Symptom: none, fast weights are no leaves.
EXPECT: runs
TRUTH: Correct. The inner step keeps the graph, the outer loss differentiates through it to the meta parameters and the learned inner rates."""
import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
rates = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(torch.tensor(-3.0)) for n, _ in net.named_parameters()})
opt = torch.optim.Adam([*net.parameters(), *rates.parameters()], lr=5e-3)


def inner(params, x, y, steps=2):
    for _ in range(steps):
        loss = (functional_call(net, params, (x,)) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {n: p - rates[n.replace(".", "_")].exp() * g for (n, p), g in zip(params.items(), grads)}
    return params


def make_task():
    a, b = torch.rand(2).tolist()

    def draw(n):
        x = torch.rand(n, 1) * 4 - 2
        return x, (1 + a) * torch.sin(x + b)
    return draw


log = []
for it in range(150):
    total = 0.0
    for _ in range(3):
        draw = make_task()
        fast = inner(dict(net.named_parameters()), *draw(10))
        x, y = draw(20)
        total = total + (functional_call(net, fast, (x,)) - y).pow(2).mean()
    opt.zero_grad()
    (total / 3).backward()
    opt.step()
    log.append(total.item() / 3)
print("loss", sum(log[:15]) / 15, "->", sum(log[-15:]) / 15)
