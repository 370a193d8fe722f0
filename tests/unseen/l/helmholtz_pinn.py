"""WRONG. The tensorflow version of this Helmholtz PINN works, the pytorch port gives a bad field whatever layers or iterations; even the exact solution has a large PDE residual.
TRUTH: the second call differentiates the sum of u_x and u_y (grad_outputs of ones over both columns), so each column holds u_xx + u_xy and u_xy + u_yy; differentiate the columns one by one: grad(u_g[:, [0]], ...)[:, [0]] and grad(u_g[:, [1]], ...)[:, [1]].
THREAD: https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4
"""
import math
import torch
import torch.nn as nn
from torch import autograd


class SequentialModel(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.activation = nn.Tanh()
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layers[:-1], layers[1:])])
        for lin in self.linears:
            nn.init.xavier_normal_(lin.weight)
            nn.init.zeros_(lin.bias)

    def forward(self, x):
        for lin in self.linears[:-1]:
            x = self.activation(lin(x))
        return self.linears[-1](x)


class Helmholtz:
    """u_xx + u_yy + k^2 u = q on [-1, 1]^2, u = 0 on the boundary"""

    def __init__(self, a1=1.0, a2=1.0, k=1.0):
        self.a1, self.a2, self.k = a1, a2, k

    def exact(self, x):
        return torch.sin(self.a1 * math.pi * x[:, [0]]) * torch.sin(self.a2 * math.pi * x[:, [1]])

    def source(self, x):
        c = self.k ** 2 - (self.a1 * math.pi) ** 2 - (self.a2 * math.pi) ** 2
        return c * self.exact(x)

    def loss_PDE(self, net, x_f):
        g = x_f.clone()
        g.requires_grad = True
        u = net(g)
        u_g = autograd.grad(u, g, torch.ones_like(u), create_graph=True)[0]
        u_gg = autograd.grad(u_g, g, torch.ones_like(u_g), create_graph=True)[0]  # CULPRIT
        u_xx = u_gg[:, [0]]
        u_yy = u_gg[:, [1]]
        f = u_xx + u_yy + self.k ** 2 * u - self.source(g)
        return f.pow(2).mean()

    def loss_BC(self, net, x_b):
        return net(x_b).pow(2).mean()


def boundary_points(n):
    s = torch.rand(n) * 2 - 1
    one = torch.ones(n)
    sides = [torch.stack((s, one), 1), torch.stack((s, -one), 1), torch.stack((one, s), 1), torch.stack((-one, s), 1)]
    return torch.cat(sides)


def residual_of_exact(problem, n=500):
    pts = torch.rand(n, 2) * 2 - 1
    return problem.loss_PDE(problem.exact, pts).item()


def relative_error(problem, net, n=40):
    line = torch.linspace(-1, 1, n)
    grid = torch.cartesian_prod(line, line)
    with torch.no_grad():
        u, ue = net(grid), problem.exact(grid)
    return ((u - ue).norm() / ue.norm()).item()


def train(problem, net, steps, n_f=100, n_b=15, w_b=50.0, lr=1e-2):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, gamma=0.7)
    for it in range(steps):
        x_f = torch.rand(n_f, 2) * 2 - 1
        loss_f = problem.loss_PDE(net, x_f)
        loss_b = problem.loss_BC(net, boundary_points(n_b))
        loss = loss_f + w_b * loss_b
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 60 == 0:
            print(it, f"pde {loss_f.item():.3f} bc {loss_b.item():.5f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    problem = Helmholtz()
    net = SequentialModel([2, 40, 40, 1])
    train(problem, net, 200)
    print("relative error of the net", round(relative_error(problem, net), 3))
    print("PDE residual of the exact solution", round(residual_of_exact(problem), 6))
