"""WRONG. The Adam phase of the PINN works, the L-BFGS phase afterwards raises "Trying to backward through the graph a second time" in its first step.
TRUTH: residual and boundary error are computed once outside the closure, so the second evaluation that L-BFGS asks for walks through a freed graph; compute self.net_terms() inside the closure.
THREAD: https://github.com/pytorch/pytorch/issues/111369
"""
import math
import torch
import torch.nn as nn


class DNN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        mods = []
        for i in range(len(layers) - 2):
            mods += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        mods.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*mods)

    def forward(self, x):
        return self.net(x)


class PhysicsInformedNN:
    """u'' = -pi^2 sin(pi x) on [0, 1], u(0) = u(1) = 0"""

    def __init__(self, layers, n_f=40, weight_b=10.0):
        self.dnn = DNN(layers)
        self.x_f = torch.linspace(0, 1, n_f).view(-1, 1).requires_grad_(True)
        self.x_b = torch.tensor([[0.0], [1.0]])
        self.weight_b = weight_b
        self.adam = torch.optim.Adam(self.dnn.parameters(), lr=5e-3)
        self.lbfgs = torch.optim.LBFGS(self.dnn.parameters(), lr=1.0, max_iter=15, history_size=20,
                                       line_search_fn="strong_wolfe")
        self.iter = 0
        self.history = []

    def net_u(self, x):
        return self.dnn(x)

    def net_terms(self):
        u = self.net_u(self.x_f)
        u_x = torch.autograd.grad(u, self.x_f, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, self.x_f, torch.ones_like(u_x), create_graph=True)[0]
        residual = u_xx + math.pi ** 2 * torch.sin(math.pi * self.x_f)
        boundary = self.net_u(self.x_b)
        return residual, boundary

    def loss_func(self, residual, boundary):
        loss_f = residual.pow(2).mean()
        loss_b = boundary.pow(2).mean()
        return loss_f + self.weight_b * loss_b

    def callback(self, loss, tag):
        self.iter += 1
        self.history.append(loss)
        if self.iter % 25 == 1:
            print(f"{tag} it {self.iter:4d} loss {loss:.5f}")

    def train_adam(self, steps):
        for _ in range(steps):
            residual, boundary = self.net_terms()
            loss = self.loss_func(residual, boundary)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.callback(loss.item(), "adam ")

    def train_lbfgs(self, outer):
        for _ in range(outer):
            residual, boundary = self.net_terms()  # CULPRIT

            def closure():
                self.lbfgs.zero_grad()
                loss = self.loss_func(residual, boundary)
                loss.backward()
                self.callback(loss.item(), "lbfgs")
                return loss

            self.lbfgs.step(closure)

    def predict(self, x):
        with torch.no_grad():
            return self.net_u(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = PhysicsInformedNN([1, 20, 20, 1])
    model.train_adam(50)
    model.train_lbfgs(4)
    x = torch.linspace(0, 1, 101).view(-1, 1)
    err = (model.predict(x) - torch.sin(math.pi * x)).norm() / torch.sin(math.pi * x).norm()
    print("relative L2 error", round(err.item(), 4))
