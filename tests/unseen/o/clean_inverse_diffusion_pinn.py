"""Inverse PINN: find the diffusivity and decay of u_t = D u_xx - r u from noisy data.

TRUTH: correct: the derivatives are taken of u.sum() (rows are independent, so this is the per-point derivative), D and r are
scalar parameters kept positive with exp, x and t are leaf tensors with requires_grad that are not optimized, LBFGS calls the
closure several times per step (zero_grad and backward are inside it) after a warm-up with Adam. D and r are recovered.
"""
import math

import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)

TRUE_D = 0.1
TRUE_R = 1.5
N_DATA = 120
N_COL = 140


def solution(x, t):
    lam = TRUE_D * math.pi ** 2
    first = torch.exp(-(lam + TRUE_R) * t) * torch.sin(math.pi * x)
    second = 0.5 * torch.exp(-(4 * lam + TRUE_R) * t) * torch.sin(2 * math.pi * x)
    return first + second


def gradient(u, v):
    return torch.autograd.grad(u.sum(), v, create_graph=True)[0]


class InversePINN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1))
        self.log_d = nn.Parameter(torch.tensor(-1.0))
        self.log_r = nn.Parameter(torch.tensor(0.0))

    @property
    def coefficients(self):
        return self.log_d.exp(), self.log_r.exp()

    def forward(self, x, t):
        u = self.net(torch.cat([2 * x - 1, 2 * t - 1], dim=1))
        return 4 * x * (1 - x) * u

    def residual(self, x, t):
        u = self(x, t)
        u_t = gradient(u, t)
        u_x = gradient(u, x)
        u_xx = gradient(u_x, x)
        d, r = self.coefficients
        return u_t - d * u_xx + r * u


class Problem:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.rand(N_DATA, 1, generator=g)
        self.t = torch.rand(N_DATA, 1, generator=g)
        self.u = solution(self.x, self.t) + 0.002 * torch.randn(N_DATA, 1, generator=g)
        self.xc = torch.rand(N_COL, 1, generator=g).requires_grad_()
        self.tc = torch.rand(N_COL, 1, generator=g).requires_grad_()

    def loss(self, model):
        data = ((model(self.x, self.t) - self.u) ** 2).mean()
        physics = (model.residual(self.xc, self.tc) ** 2).mean()
        return 10 * data + 0.2 * physics, data, physics


def report(name, model, problem):
    loss, data, physics = problem.loss(model)
    d, r = model.coefficients
    print("%-10s loss %.3e  data %.3e  physics %.3e  D %.4f  r %.4f"
          % (name, loss.item(), data.item(), physics.item(), d.item(), r.item()))


def main():
    torch.manual_seed(0)
    problem = Problem(seed=5)
    model = InversePINN()
    report("start", model, problem)

    adam = torch.optim.Adam([
        {"params": model.net.parameters(), "lr": 5e-3},
        {"params": [model.log_d, model.log_r], "lr": 1e-2},
    ])
    for step in range(200):
        adam.zero_grad()
        loss, _, _ = problem.loss(model)
        loss.backward()
        adam.step()
    report("adam", model, problem)

    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=40, history_size=30,
                              line_search_fn="strong_wolfe", tolerance_change=1e-12)

    def closure():
        lbfgs.zero_grad()
        loss, _, _ = problem.loss(model)
        loss.backward()
        return loss

    for k in range(6):
        lbfgs.step(closure)
        report("lbfgs %d" % (k + 1), model, problem)
    print("true       D %.4f  r %.4f" % (TRUE_D, TRUE_R))


if __name__ == "__main__":
    main()
