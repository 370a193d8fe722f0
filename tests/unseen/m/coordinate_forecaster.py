"""WRONG. A coordinate network for a damped oscillation series: the first step works, the second backward raises
"Trying to backward through the graph a second time".
TRUTH: t = t0 + span * torch.rand(..., requires_grad=True) is no leaf, its small graph is built once outside the loop and freed by the
first backward; make the shifted tensor the leaf: (t0 + span * torch.rand(...)).requires_grad_().
THREAD: https://github.com/pytorch/pytorch/issues/90158
"""
import math

import torch
from torch import nn

CONFIG = {
    "t0": 0.5,
    "span": 5.0,
    "n_colloc": 64,
    "n_obs": 80,
    "hidden": 32,
    "lr": 5e-3,
    "steps": 200,
    "ode_weight": 0.02,
    "omega": 2.0,
    "gamma": 0.2,
}


class Fourier(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("freq", torch.linspace(0.2, 3.0, n))

    def forward(self, t):
        ang = t * self.freq
        return torch.cat([torch.sin(ang), torch.cos(ang)], dim=-1)


class Net(nn.Module):
    def __init__(self, hidden, n_freq=6):
        super().__init__()
        self.enc = Fourier(n_freq)
        self.stack = nn.Sequential(
            nn.Linear(2 * n_freq + 1, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, a, t):
        X = torch.cat([a, self.enc(t)], dim=1)
        return self.stack(X)


def solution(a, t, cfg):
    return a * torch.exp(-cfg["gamma"] * t) * torch.cos(cfg["omega"] * t)


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def ode_residual(net, a, t, cfg):
    y = net(a, t)
    dy = grad(y, t)
    ddy = grad(dy, t)
    k = cfg["omega"] ** 2 + cfg["gamma"] ** 2
    return ddy + 2 * cfg["gamma"] * dy + k * y


def main(cfg):
    torch.manual_seed(0)
    net = Net(cfg["hidden"])
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg["steps"])

    a_obs = torch.empty(cfg["n_obs"], 1).uniform_(0.5, 1.5)
    t_obs = cfg["t0"] + cfg["span"] * torch.rand(cfg["n_obs"], 1)
    y_obs = solution(a_obs, t_obs, cfg) + 0.02 * torch.randn(cfg["n_obs"], 1)

    a = torch.empty(cfg["n_colloc"], 1).uniform_(0.5, 1.5)
    t = cfg["t0"] + cfg["span"] * torch.rand(cfg["n_colloc"], 1, requires_grad=True)  # CULPRIT

    for step in range(cfg["steps"]):
        data_loss = torch.mean(torch.square(net(a_obs, t_obs) - y_obs))
        ode_loss = torch.mean(torch.square(ode_residual(net, a, t, cfg)))
        loss = data_loss + cfg["ode_weight"] * ode_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 50 == 49:
            print(f"step {step + 1} data {data_loss.item():.4f} ode {ode_loss.item():.4f}")

    with torch.no_grad():
        t_new = torch.linspace(cfg["t0"], cfg["t0"] + cfg["span"], 100)[:, None]
        a_new = torch.ones_like(t_new)
        rmse = math.sqrt(torch.mean(torch.square(net(a_new, t_new) - solution(a_new, t_new, cfg))).item())
    print(f"rmse on a new amplitude {rmse:.4f}")


if __name__ == "__main__":
    main(CONFIG)
