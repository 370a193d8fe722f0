"""RIGHT. First-order meta learning (FOMAML and Reptile) with deep copies of the model, and gradients written by hand into .grad of the initial model.
TRUTH: no gradient needs to flow through the copies: FOMAML adds the gradient of the query loss at the adapted weights, Reptile the difference of the weights; .grad is set anew in every meta step, so no zero_grad of the meta optimizer is needed.
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x))


def sample_task(k):
    slope = torch.rand(1) * 2 + 1
    shift = torch.rand(1) * 4 - 2
    x = torch.rand(2 * k, 1) * 4 - 2
    y = slope * x + shift
    return (x[:k], y[:k]), (x[k:], y[k:])


def adapt(model, support, lr, steps):
    fast = copy.deepcopy(model)
    opt = torch.optim.SGD(fast.parameters(), lr=lr)
    for _ in range(steps):
        loss = F.mse_loss(fast(support[0]), support[1])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return fast


class FOMAML:
    def __init__(self, inner_lr=0.05, inner_steps=3):
        self.inner_lr, self.inner_steps = inner_lr, inner_steps

    def meta_gradient(self, model, support, query):
        fast = adapt(model, support, self.inner_lr, self.inner_steps)
        loss = F.mse_loss(fast(query[0]), query[1])
        return torch.autograd.grad(loss, list(fast.parameters())), loss.item()


class Reptile:
    def __init__(self, inner_lr=0.05, inner_steps=5):
        self.inner_lr, self.inner_steps = inner_lr, inner_steps

    def meta_gradient(self, model, support, query):
        data = (torch.cat([support[0], query[0]]), torch.cat([support[1], query[1]]))
        fast = adapt(model, data, self.inner_lr, self.inner_steps)
        with torch.no_grad():
            direction = [p - q for p, q in zip(model.parameters(), fast.parameters())]
            loss = F.mse_loss(fast(query[0]), query[1]).item()
        return direction, loss


def meta_step(model, optimizer, method, tasks):
    total = [torch.zeros_like(p) for p in model.parameters()]
    losses = []
    for support, query in tasks:
        grads, loss = method.meta_gradient(model, support, query)
        for acc, g in zip(total, grads):
            acc.add_(g, alpha=1.0 / len(tasks))
        losses.append(loss)
    for p, g in zip(model.parameters(), total):
        p.grad = g
    optimizer.step()
    return sum(losses) / len(losses)


def evaluate(model, n_tasks=20, steps=3):
    losses = []
    for _ in range(n_tasks):
        support, query = sample_task(5)
        fast = adapt(model, support, 0.05, steps)
        with torch.no_grad():
            losses.append(F.mse_loss(fast(query[0]), query[1]).item())
    return sum(losses) / len(losses)


def main():
    for method, make in ((FOMAML(), lambda p: torch.optim.Adam(p, lr=5e-3)),
                         (Reptile(), lambda p: torch.optim.SGD(p, lr=0.5))):
        torch.manual_seed(0)
        model = Net()
        optimizer = make(model.parameters())
        before = evaluate(model)
        for _ in range(50):
            meta_step(model, optimizer, method, [sample_task(5) for _ in range(4)])
        print(type(method).__name__, "before", round(before, 3), "after", round(evaluate(model), 3))


if __name__ == "__main__":
    main()
