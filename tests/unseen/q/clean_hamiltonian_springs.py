"""Learns the energy function of two coupled springs from measured velocities, and integrates it to predict trajectories.

TRUTH: Right as it stands. The network's output (the energy) never enters the loss, only its derivatives with respect to the state,
taken with create_graph in training; the last bias therefore has no influence and is frozen on purpose. Prediction happens inside
a no_grad function, where field() re-enables gradients for the derivative itself and returns it detached. The softplus is smooth, so
second derivatives exist.
"""
import argparse
import math

import torch
import torch.nn as nn


class Energy(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.Softplus(beta=2), nn.Linear(width, width), nn.Softplus(beta=2),
                                 nn.Linear(width, 1))
        self.net[-1].bias.requires_grad_(False)

    def forward(self, state):
        return self.net(state)[:, 0]


def field(energy, state, training):
    """(dH/dp, -dH/dq) for states (q1, q2, p1, p2)"""
    with torch.enable_grad():
        state = state.detach().requires_grad_(True)
        slope, = torch.autograd.grad(energy(state).sum(), state, create_graph=training)
    dq, dp = slope.chunk(2, 1)
    return torch.cat([dp, -dq], 1)


def true_energy(state):
    q1, q2, p1, p2 = state.unbind(1)
    return 0.5 * (p1 ** 2 + p2 ** 2 / 1.5) + 0.5 * q1 ** 2 + 0.4 * q2 ** 2 + 0.6 * (q1 - q2) ** 2 + 0.1 * q1 ** 4


def measure(n, g):
    state = 1.2 * torch.randn(n, 4, generator=g).clamp(-2, 2)
    x = state.requires_grad_(True)
    slope, = torch.autograd.grad(true_energy(x).sum(), x)
    dq, dp = slope.chunk(2, 1)
    velocity = torch.cat([dp, -dq], 1)
    return state.detach(), velocity + 0.05 * torch.randn(n, 4, generator=g)


@torch.no_grad()
def roll_out(rhs, state, steps=100, h=0.05):
    path = [state]
    for _ in range(steps):
        k1 = rhs(state)
        k2 = rhs(state + 0.5 * h * k1)
        k3 = rhs(state + 0.5 * h * k2)
        k4 = rhs(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(state)
    return torch.stack(path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--lr", type=float, default=4e-3)
    args = p.parse_args()
    torch.manual_seed(2)
    g = torch.Generator().manual_seed(32)
    state, velocity = measure(2000, g)
    energy = Energy()
    opt = torch.optim.Adam([w for w in energy.parameters() if w.requires_grad], lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    start = 0.7 * torch.randn(20, 4, generator=g)
    truth = roll_out(lambda s: field(true_energy, s, False), start)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for idx in torch.randperm(len(state), generator=g).split(args.batch):
            loss = (field(energy, state[idx], True) - velocity[idx]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        if epoch % 8 == 0:
            path = roll_out(lambda s: field(energy, s, False), start)
            error = (path - truth).square().mean().sqrt().item()
            drift = (true_energy(path[-1]) - true_energy(path[0])).abs().mean().item()
            assert not math.isnan(error)
            print(f"epoch {epoch:2d}  velocity mse {total / len(state):.4f}  path error {error:.3f}  energy drift {drift:.3f}")


if __name__ == "__main__":
    main()
