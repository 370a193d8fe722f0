"""RIGHT. Meta-SGD: the inner learning rates are parameters, the inner loop is differentiated, evaluation adapts without a graph to the outer parameters.
TRUTH: fast weights are built out of place from autograd.grad with create_graph=True, so the query loss reaches the initial weights and the learning rates; in evaluation the adapted weights are detached and marked as leaves on purpose, and grad is needed there although nothing is trained.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.body(x)


class MetaSGD(nn.Module):
    def __init__(self, net, inner_steps=2, lr=0.05):
        super().__init__()
        self.net = net
        self.inner_steps = inner_steps
        self.log_lr = nn.ParameterList(
            [nn.Parameter(torch.full_like(p, lr).log()) for p in net.parameters()])

    def adapt(self, x, y, train=True):
        fast = dict(self.net.named_parameters())
        if not train:
            fast = {k: v.detach().requires_grad_() for k, v in fast.items()}
        for _ in range(self.inner_steps):
            loss = F.mse_loss(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=train)
            stepped = {}
            for (name, w), g, a in zip(fast.items(), grads, self.log_lr):
                new = w - a.exp() * g
                stepped[name] = new if train else new.detach().requires_grad_()
            fast = stepped
        return fast

    def query(self, fast, x, y):
        return F.mse_loss(functional_call(self.net, fast, (x,)), y)


def sample_task(k=8, q=12):
    a, b = torch.rand(1) * 2 + 0.5, torch.randn(1)
    x = torch.rand(k + q, 1) * 4 - 2
    y = a * torch.sin(1.5 * x) + b
    return (x[:k], y[:k]), (x[k:], y[k:])


def evaluate(meta, tasks):
    before, after = 0.0, 0.0
    for support, query in tasks:
        fast = meta.adapt(*support, train=False)
        with torch.no_grad():
            before += F.mse_loss(meta.net(query[0]), query[1]).item()
            after += meta.query(fast, *query).item()
    return before / len(tasks), after / len(tasks)


def main():
    meta = MetaSGD(Net())
    opt = torch.optim.Adam([
        {"params": meta.net.parameters(), "lr": 5e-3},
        {"params": meta.log_lr.parameters(), "lr": 2e-2},
    ])
    val_tasks = [sample_task() for _ in range(10)]
    for it in range(40):
        opt.zero_grad()
        total = 0.0
        for _ in range(4):
            support, query = sample_task()
            loss = meta.query(meta.adapt(*support), *query) / 4
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(meta.parameters(), 5.0)
        opt.step()
        if it % 10 == 9:
            before, after = evaluate(meta, val_tasks)
            lrs = torch.cat([p.detach().exp().flatten() for p in meta.log_lr])
            print(f"iter {it + 1} query {total:.3f} val before {before:.3f} after {after:.3f} "
                  f"inner lr {lrs.min().item():.3f}..{lrs.max().item():.3f}")


if __name__ == "__main__":
    main()
