"""Hamiltonian neural network fitted to pendulum trajectories through a memory-saving adjoint ODE Function.

TRUTH: The vector field differentiates the learned energy with torch.autograd.grad inside forward(). That works with
a plain solver, but the adjoint Function solves the ODE in its forward, where grad mode is off, so the energy has no
graph and torch.autograd.grad raises "element 0 of tensors does not require grad and does not have a grad_fn". Fix:
compute the energy under torch.enable_grad() (the input already asks for grad). Drawn from rtqichen/torchdiffeq#154.
"""
import argparse
import math

import torch
from torch import nn


class HamiltonianField(nn.Module):
    """dq/dt = dH/dp, dp/dt = -dH/dq with H given by a small network."""

    def __init__(self, width=32):
        super().__init__()
        self.energy = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1, bias=False),
        )

    def forward(self, y):
        if not y.requires_grad:
            y = y.detach().requires_grad_(True)
        h = self.energy(y).sum()  # CULPRIT
        dh, = torch.autograd.grad(h, y, create_graph=True)
        return torch.stack([dh[:, 1], -dh[:, 0]], dim=1)


def midpoint(field, y, dt):
    half = y + 0.5 * dt * field(y)
    return y + dt * field(half)


class AdjointRollout(torch.autograd.Function):
    """Stores only the states; each step is recomputed with a graph on the way back."""

    @staticmethod
    def forward(ctx, field, dt, steps, y0, *params):
        states = [y0]
        for _ in range(steps):
            states.append(midpoint(field, states[-1], dt).detach())
        ctx.field, ctx.dt = field, dt
        ctx.n_params = len(params)
        ctx.save_for_backward(*states, *params)
        return torch.stack(states)

    @staticmethod
    def backward(ctx, grad_states):
        saved = ctx.saved_tensors
        states, params = saved[:-ctx.n_params], saved[-ctx.n_params:]
        adj = grad_states[-1]
        grads = [torch.zeros_like(p) for p in params]
        for i in range(len(states) - 2, -1, -1):
            with torch.enable_grad():
                y = states[i].detach().requires_grad_(True)
                nxt = midpoint(ctx.field, y, ctx.dt)
                out = torch.autograd.grad(nxt, (y, *params), adj, allow_unused=True)
            adj = out[0] + grad_states[i]
            grads = [g if d is None else g + d for g, d in zip(grads, out[1:])]
        return (None, None, None, adj, *grads)


def rollout(field, y0, dt, steps):
    return AdjointRollout.apply(field, dt, steps, y0, *field.parameters())


def pendulum(n, steps, dt, gen, sub=10):
    q = (2 * torch.rand(n, generator=gen) - 1) * math.pi * 0.6
    p = (2 * torch.rand(n, generator=gen) - 1)
    out = [torch.stack([q, p], 1)]
    h = dt / sub
    for _ in range(steps):
        for _ in range(sub):
            p = p - 0.5 * h * torch.sin(q)
            q = q + h * p
            p = p - 0.5 * h * torch.sin(q)
        out.append(torch.stack([q, p], 1))
    return torch.stack(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=200)
    ap.add_argument("--dt", type=float, default=0.15)
    ap.add_argument("--steps", type=int, default=6)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()

    torch.manual_seed(8)
    gen = torch.Generator().manual_seed(9)
    train = pendulum(512, args.steps, args.dt, gen)
    test = pendulum(64, 3 * args.steps, args.dt, gen)
    field = HamiltonianField()
    opt = torch.optim.Adam(field.parameters(), lr=args.lr)
    for it in range(args.iters):
        idx = torch.randint(0, train.size(1), (64,), generator=gen)
        pred = rollout(field, train[0, idx], args.dt, args.steps)
        loss = (pred - train[:, idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 25 == 0:
            print(f"iter {it:4d}  loss {loss.item():.5f}")
    long = rollout(field, test[0], args.dt, 3 * args.steps)
    print(f"extrapolation mse {(long - test).pow(2).mean().item():.5f}")


if __name__ == "__main__":
    main()
