"""Fit a molecular-style potential to forces with a memory-saving Swish.

The network gives an energy; forces are minus its derivative with respect to the
coordinates and only the forces are fitted, so the training differentiates twice.
Swish is a custom autograd Function that keeps sigmoid(x) for the backward.

TRUTH: The Function stores the intermediate sigmoid on ctx and its backward uses it as a constant; in the double backward
(force loss) the dependence of sigmoid(x) on x is silently dropped, so the parameter gradients of the force loss are wrong
and the force fit is slower and ends with an error several times as large. Fix: recompute sigmoid from the saved input inside backward.
Drawn from pytorch/pytorch#58509 and #104040 (custom Function saving intermediates: double backward silently incorrect).
"""
import argparse

import torch
import torch.nn as nn


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sig = torch.sigmoid(x)
        ctx.save_for_backward(x)
        ctx.sig = sig
        return x * sig

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        sig = ctx.sig  # CULPRIT
        return grad_output * (sig * (1 + x * (1 - sig)))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)


class Potential(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), Swish(),
            nn.Linear(hidden, hidden), Swish(),
            nn.Linear(hidden, 1))

    def energy(self, r):
        return self.net(r).squeeze(-1)

    def forces(self, r, training=True):
        r = r.detach().requires_grad_(True)
        e = self.energy(r)
        return -torch.autograd.grad(e.sum(), r, create_graph=training)[0]


def reference_forces(r):
    """E = sum_i 0.5 r_i^2 + cos(2 r_i) + r_0 r_1"""
    f = -(r - 2 * torch.sin(2 * r))
    f = f.clone()
    f[:, 0] -= r[:, 1]
    f[:, 1] -= r[:, 0]
    return f


def make_set(n, dim, seed):
    g = torch.Generator().manual_seed(seed)
    r = 3 * torch.rand(n, dim, generator=g) - 1.5
    return r, reference_forces(r)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dim", type=int, default=3)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def mae(model, r, f):
    return (model.forces(r, training=False) - f).abs().mean().item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    r, f = make_set(1024, args.dim, 1)
    r_val, f_val = make_set(256, args.dim, 2)
    model = Potential(args.dim, args.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.96)
    print("mean |force| of the reference %.4f" % f_val.abs().mean().item())

    for epoch in range(1, args.epochs + 1):
        order = torch.randperm(len(r))
        total = 0.0
        for i in range(0, len(r), args.batch):
            j = order[i:i + args.batch]
            pred = model.forces(r[j])
            loss = ((pred - f[j]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(j)
        sched.step()
        if epoch % 10 == 0:
            print("epoch %3d  force mse %.5f  val force mae %.4f"
                  % (epoch, total / len(r), mae(model, r_val, f_val)))


if __name__ == "__main__":
    main()
