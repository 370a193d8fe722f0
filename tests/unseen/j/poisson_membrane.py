# kind: second_derivatives_mixed
"""Deep Galerkin style solver for the Poisson equation on the unit square."""
import math

import torch
from torch import nn


def solution(xy):
    x, y = xy[:, 0:1], xy[:, 1:2]
    return torch.sin(math.pi * x) * torch.sin(math.pi * y) + 0.5 * x * y * (1 - x) * (1 - y)


def source(xy):
    """Laplacian of the solution."""
    x, y = xy[:, 0:1], xy[:, 1:2]
    wave = -2 * math.pi ** 2 * torch.sin(math.pi * x) * torch.sin(math.pi * y)
    return wave - y * (1 - y) - x * (1 - x)


class Membrane(nn.Module):
    """The factor x(1-x)y(1-y) builds the zero boundary values in."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, xy):
        x, y = xy[:, 0:1], xy[:, 1:2]
        return 16 * x * (1 - x) * y * (1 - y) * self.net(xy)


def gradient(out, inp):
    return torch.autograd.grad(out, inp, grad_outputs=torch.ones_like(out), create_graph=True)[0]


class Operators:
    """Differential operators on a batch of points."""

    def __init__(self, field):
        self.field = field

    def laplacian(self, xy):
        first = gradient(self.field(xy), xy)
        return gradient(first, xy).sum(dim=1, keepdim=True)  # CULPRIT


class Solver:
    def __init__(self, lr=5e-3, seed=0):
        torch.manual_seed(seed)
        self.field = Membrane()
        self.ops = Operators(self.field)
        self.opt = torch.optim.Adam(self.field.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, step_size=100, gamma=0.5)
        self.test = torch.rand(400, 2)

    def step(self, n=200):
        xy = torch.rand(n, 2, requires_grad=True)
        residual = self.ops.laplacian(xy) - source(xy.detach())
        loss = residual.pow(2).mean() / 100
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item()

    @torch.no_grad()
    def relative_error(self):
        exact = solution(self.test)
        return ((self.field(self.test) - exact).norm() / exact.norm()).item()


if __name__ == "__main__":
    solver = Solver()
    for it in range(301):
        value = solver.step()
        if it % 75 == 0:
            print(f"iter {it} residual {value:.5f} relative error {solver.relative_error():.4f}")
