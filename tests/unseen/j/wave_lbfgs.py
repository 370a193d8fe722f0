# kind: gradients_never_applied
"""Physics-informed network for a damped spring, trained with Adam or L-BFGS."""
import argparse

import torch
from torch import nn

DAMPING, STIFFNESS = 0.4, 4.0


class Displacement(nn.Module):
    """u(t) with u(0) = 1 and u'(0) = 0 built in."""

    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, t):
        return 1 + t**2 * self.net(t)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def residual(model, t):
    t = t.clone().requires_grad_()
    u = model(t)
    du = derivative(u, t)
    return derivative(du, t) + DAMPING * du + STIFFNESS * u


class Problem:
    def __init__(self, model, points=40, t_max=2.0):
        self.model = model
        self.t = torch.linspace(0, t_max, points).unsqueeze(1)

    def loss(self):
        return residual(self.model, self.t).pow(2).mean()

    def exact(self):
        half = DAMPING / 2
        omega = (STIFFNESS - half**2) ** 0.5
        t = self.t
        return torch.exp(-half * t) * (torch.cos(omega * t) + half / omega * torch.sin(omega * t))

    def error(self):
        with torch.no_grad():
            return (self.model(self.t) - self.exact()).abs().max().item()


def make_step(problem, optimizer):
    """One training step, the same for optimizers with and without a line search."""

    def closure():
        optimizer.zero_grad()
        loss = problem.loss()
        loss.backward()
        return loss

    def step():
        return closure().item()  # CULPRIT

    return step


def build_optimizer(name, params):
    if name == "lbfgs":
        return torch.optim.LBFGS(params, lr=1.0, max_iter=10, line_search_fn="strong_wolfe")
    return torch.optim.Adam(params, lr=3e-3)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", choices=["adam", "lbfgs"], default="lbfgs")
    parser.add_argument("--rounds", type=int, default=12)
    args = parser.parse_args(argv)
    torch.manual_seed(0)
    problem = Problem(Displacement())
    step = make_step(problem, build_optimizer(args.optimizer, problem.model.parameters()))
    for i in range(args.rounds):
        loss = step()
        if i % 3 == 2:
            print(f"round {i + 1} residual {loss:.5f} max error {problem.error():.4f}")


if __name__ == "__main__":
    main()
