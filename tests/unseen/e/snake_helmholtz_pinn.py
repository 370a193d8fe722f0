"""prateekbhustali/Physics-Informed-Neural-Networks#4, "Helmholtz pytorch predicted problem"
Symptom: the tensorflow version is right, but whatever layers or iterations the pytorch version's prediction is bad.
EXPECT: runs
TRUTH: autograd.grad of the whole gradient vector sums both partial derivatives, so the Laplacian contains the mixed derivative; differentiate each component by itself.
"""
import math

import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(20)
torch.set_num_threads(1)

a_1, a_2, k = 1, 1, 1


def exact(x):
    return torch.sin(a_1 * math.pi * x[:, [0]]) * torch.sin(a_2 * math.pi * x[:, [1]])


def source(x):
    return (k ** 2 - (a_1 * math.pi) ** 2 - (a_2 * math.pi) ** 2) * exact(x)


class FCN(nn.Module):
    def __init__(self, layers=(2, 24, 24, 1)):
        super().__init__()
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction="mean")
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layers[:-1], layers[1:])])
        for lin in self.linears:
            nn.init.xavier_normal_(lin.weight.data, gain=1.0)
            nn.init.zeros_(lin.bias.data)

    def forward(self, x):
        a = x
        for lin in self.linears[:-1]:
            a = self.activation(lin(a))
        return self.linears[-1](a)

    def loss_BC(self, x, y):
        return self.loss_function(self.forward(x), y)

    def loss_PDE(self, x_pde):
        g = x_pde.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_x = autograd.grad(u, g, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_xx = autograd.grad(u_x, g, torch.ones_like(u_x), create_graph=True)[0]  # CULPRIT
        u_xx_1, u_xx_2 = u_xx[:, [0]], u_xx[:, [1]]
        f = u_xx_1 + u_xx_2 + k ** 2 * u - source(g)
        return self.loss_function(f, torch.zeros_like(f))

    def loss(self, x_bc, y_bc, x_pde):
        return 50 * self.loss_BC(x_bc, y_bc) + self.loss_PDE(x_pde)


def boundary(n):
    s = torch.rand(n, 1)
    zero, one = torch.zeros_like(s), torch.ones_like(s)
    x = torch.cat([torch.cat(p, dim=1) for p in ((s, zero), (s, one), (zero, s), (one, s))])
    return x, exact(x)


def main():
    model = FCN()
    x_bc, y_bc = boundary(25)
    x_pde = torch.rand(200, 2)
    grid = torch.cartesian_prod(torch.linspace(0, 1, 25), torch.linspace(0, 1, 25))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(1201):
        optimizer.zero_grad()
        loss = model.loss(x_bc, y_bc, x_pde)
        loss.backward()
        optimizer.step()
        if it % 300 == 0:
            with torch.no_grad():
                u = exact(grid)
                err = ((model(grid) - u).norm() / u.norm()).item()
            print("iter %d loss %.4f relative L2 error %.4f" % (it, loss.item(), err))


if __name__ == "__main__":
    main()
