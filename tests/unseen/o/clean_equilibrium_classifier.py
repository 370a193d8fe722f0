"""Deep equilibrium layer with implicit differentiation, spiral classification.

TRUTH: correct: the fixed point is searched under no_grad and the state is detached; one further application of the cell with
grad enabled re-attaches it, and a hook on that output replaces the incoming gradient by the solution of the adjoint fixed-point
equation, which is the implicit function theorem. The gradient agrees with an unrolled solver (printed).
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def spirals(n, classes=3, seed=0, noise=0.12):
    g = torch.Generator().manual_seed(seed)
    xs, ys = [], []
    for c in range(classes):
        t = torch.rand(n, generator=g)
        a = 2 * math.pi * c / classes + 3.0 * t + noise * torch.randn(n, generator=g)
        xs.append(torch.stack([t * torch.cos(a), t * torch.sin(a)], dim=1) * 2)
        ys.append(torch.full((n,), c))
    return torch.cat(xs), torch.cat(ys)


class Cell(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.w = nn.Linear(hidden, hidden, bias=False)
        self.u = nn.Linear(2, hidden)
        nn.init.orthogonal_(self.w.weight)
        with torch.no_grad():
            self.w.weight.mul_(0.5)

    def forward(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))

    @torch.no_grad()
    def contract(self, bound=0.85):
        s = torch.linalg.matrix_norm(self.w.weight, 2)
        if s > bound:
            self.w.weight.mul_(bound / s)


def fixed_point(f, z0, steps, tol=1e-5):
    z = z0
    for _ in range(steps):
        new = f(z)
        if (new - z).norm() < tol * (1e-6 + new.norm()):
            return new
        z = new
    return z


class DEQLayer(nn.Module):
    def __init__(self, cell, hidden, steps=40):
        super().__init__()
        self.cell, self.hidden, self.steps = cell, hidden, steps

    def forward(self, x):
        with torch.no_grad():
            z = fixed_point(lambda z: self.cell(z, x), torch.zeros(len(x), self.hidden), self.steps)
        if not torch.is_grad_enabled():
            return z
        z = self.cell(z.detach(), x)

        z0 = z.detach().requires_grad_()
        f0 = self.cell(z0, x)

        def backward_hook(grad):
            vjp = lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad
            return fixed_point(vjp, grad, self.steps)

        z.register_hook(backward_hook)
        return z


class Net(nn.Module):
    def __init__(self, hidden=40, classes=3):
        super().__init__()
        self.deq = DEQLayer(Cell(hidden), hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.out(self.deq(x))


def check_gradient(net, x, y):
    cell = net.deq.cell
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()
    implicit = cell.w.weight.grad.clone()
    net.zero_grad()
    z = torch.zeros(len(x), net.deq.hidden)
    for _ in range(120):
        z = cell(z, x)
    F.cross_entropy(net.out(z), y).backward()
    unrolled = cell.w.weight.grad.clone()
    net.zero_grad()
    return (implicit - unrolled).norm().item() / unrolled.norm().item()


def main():
    torch.manual_seed(6)
    x, y = spirals(200, seed=1)
    x_val, y_val = spirals(100, seed=2)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    print("relative difference to the unrolled gradient: %.1e" % check_gradient(net, x[::10], y[::10]))
    for epoch in range(1, 26):
        order = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), 60):
            j = order[i:i + 60]
            loss = F.cross_entropy(net(x[j]), y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.deq.cell.contract()
            total += loss.item() * len(j)
        if epoch % 5 == 0:
            with torch.no_grad():
                acc = (net(x_val).argmax(1) == y_val).float().mean().item()
            print("epoch %2d  loss %.4f  val accuracy %.3f" % (epoch, total / len(x), acc))


if __name__ == "__main__":
    main()
