"""PINN for the 2-D Helmholtz equation on [-1, 1]^2 (port of a TensorFlow version).

    u_xx + u_yy + k^2 u = q(x, y),   u = 0 on the boundary,
    exact solution u = sin(a1 pi x) sin(a2 pi y)

TRUTH: The second derivatives are taken from autograd.grad(u_x, g, ones), whose columns are the derivatives of (u_x + u_y),
i.e. u_xx + u_xy and u_yx + u_yy, so the Laplacian contains twice the mixed derivative. The loss gets stuck and the relative
L2 error of the solution stays large. Fix: differentiate each column of the gradient separately and take its own column.
Drawn from prateekbhustali/Physics-Informed-Neural-Networks#4 (Helmholtz pytorch predicted problem).
"""
import numpy as np
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(1234)
np.random.seed(1234)

A_1 = 1
A_2 = 1
K = 1.0
N_U = 80
N_F = 256
EPOCHS = 400
LR = 5e-3


def exact(x):
    return torch.sin(A_1 * np.pi * x[:, [0]]) * torch.sin(A_2 * np.pi * x[:, [1]])


def source(x):
    lap = -((A_1 * np.pi) ** 2 + (A_2 * np.pi) ** 2)
    return (lap + K ** 2) * exact(x)


def boundary_points(n):
    s = 2 * np.random.rand(n, 1) - 1
    side = np.random.randint(0, 4, size=(n, 1))
    x = np.where(side == 0, -1.0, np.where(side == 1, 1.0, s))
    y = np.where(side == 2, -1.0, np.where(side == 3, 1.0, s))
    return torch.tensor(np.hstack([x, y]), dtype=torch.float32)


def collocation_points(n):
    return torch.tensor(2 * np.random.rand(n, 2) - 1, dtype=torch.float32)


class Sequentialmodel(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction="mean")
        self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
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

    def loss_PDE(self, x_to_train_f):
        g = x_to_train_f.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_x = autograd.grad(u, g, torch.ones_like(u), create_graph=True)[0]
        u_xx = self.second_derivatives(u_x, g)
        f = u_xx[:, [0]] + u_xx[:, [1]] + K ** 2 * u - source(x_to_train_f)
        return self.loss_function(f, torch.zeros_like(f))

    def second_derivatives(self, u_x, g):
        return autograd.grad(u_x, g, torch.ones_like(u_x), create_graph=True)[0]  # CULPRIT

    def loss(self, x_u, y_u, x_f):
        loss_u = self.loss_BC(x_u, y_u)
        loss_f = self.loss_PDE(x_f)
        return 100.0 * loss_u + loss_f, loss_u, loss_f


def test_error(model, n=41):
    s = torch.linspace(-1, 1, n)
    X, Y = torch.meshgrid(s, s, indexing="ij")
    pts = torch.stack([X.flatten(), Y.flatten()], dim=1)
    with torch.no_grad():
        u = exact(pts)
        return (torch.linalg.norm(u - model(pts)) / torch.linalg.norm(u)).item()


def main():
    x_u = boundary_points(N_U)
    y_u = torch.zeros(N_U, 1)
    x_f = collocation_points(N_F)
    model = Sequentialmodel([2, 30, 30, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS, 1e-4)
    for epoch in range(1, EPOCHS + 1):
        optimizer.zero_grad()
        loss, loss_u, loss_f = model.loss(x_u, y_u, x_f)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if epoch % 100 == 0:
            print("epoch %4d  loss %.4e  bc %.3e  pde %.3e  rel. L2 error %.4f"
                  % (epoch, loss.item(), loss_u.item(), loss_f.item(), test_error(model)))


if __name__ == "__main__":
    main()
