"""prateekbhustali/Physics-Informed-Neural-Networks#4
Symptom: whatever I change (layers, iterations) the PyTorch version of the Helmholtz PINN gives a bad solution; TensorFlow's is fine.
EXPECT: runs
TRUTH: the second derivative differentiates the sum of both first derivatives and mixes u_xy into the Laplacian; differentiate each column by itself.
"""
import math

import torch
import torch.autograd as autograd
import torch.nn as nn


class FCN(nn.Module):
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

    def loss_PDE(self, x_to_train_f, k):
        g = x_to_train_f.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_x = autograd.grad(u, g, torch.ones_like(u), create_graph=True)[0]
        u_xx = autograd.grad(u_x, g, torch.ones_like(u_x), create_graph=True)[0]  # CULPRIT
        u_xx1 = u_xx[:, [0]]
        u_xx2 = u_xx[:, [1]]
        x_1, x_2 = g[:, [0]].detach(), g[:, [1]].detach()
        s = torch.sin(math.pi * x_1) * torch.sin(math.pi * x_2)
        q = (k ** 2 - 2 * math.pi ** 2) * s
        f = u_xx1 + u_xx2 + k ** 2 * u - q
        return self.loss_function(f, torch.zeros_like(f))


def boundary(n):
    t = torch.rand(n, 1) * 2 - 1
    one = torch.ones_like(t)
    pts = torch.cat([torch.cat([t, one], 1), torch.cat([t, -one], 1), torch.cat([one, t], 1), torch.cat([-one, t], 1)])
    return pts, torch.zeros(len(pts), 1)


def relative_error(net):
    axis = torch.linspace(-1, 1, 41)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 2)
    exact = torch.sin(math.pi * grid[:, [0]]) * torch.sin(math.pi * grid[:, [1]])
    with torch.no_grad():
        return ((net(grid) - exact).norm() / exact.norm()).item()


def main():
    torch.manual_seed(1234)
    torch.set_num_threads(1)
    net = FCN([2, 24, 24, 24, 1])
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.998)
    X_bc, U_bc = boundary(30)
    for it in range(901):
        X_f = torch.rand(200, 2) * 2 - 1
        loss_bc = net.loss_BC(X_bc, U_bc)
        loss_f = net.loss_PDE(X_f, k=1.0)
        loss = 20 * loss_bc + 0.1 * loss_f
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 150 == 0:
            print("it %4d  bc %.5f  pde %.5f  rel. error %.3f" % (it, loss_bc.item(), loss_f.item(), relative_error(net)))


if __name__ == "__main__":
    main()
