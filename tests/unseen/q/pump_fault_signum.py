"""Classifies pump faults from vibration spectra with a home-made Signum optimizer and compares several momenta.

TRUTH: Signum.step calls init_group before every update, and init_group assigns a fresh zero momentum_buffer to each parameter
unconditionally. The buffer never carries anything from one step to the next, so the update is sign((1 - beta) * grad) =
sign(grad): momentum has no effect at all, all runs of the comparison give the very same (noisy) losses. Fix: create the buffer only
where it is missing (if "momentum_buffer" not in state). Drawn from https://github.com/kozistr/pytorch_optimizer/pull/516.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

FAULTS = ["healthy", "unbalance", "bearing", "cavitation"]


class Signum(Optimizer):
    """sign of an exponential moving average of the gradient, with decoupled weight decay"""

    def __init__(self, params, lr=1e-3, momentum=0.9, weight_decay=0.0):
        if not 0.0 <= momentum < 1.0:
            raise ValueError(f"bad momentum {momentum}")
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, step=0))

    def init_group(self, group):
        active = []
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.grad.is_sparse:
                raise RuntimeError("Signum does not support sparse gradients")
            state = self.state[p]
            if group["momentum"] > 0.0:
                state["momentum_buffer"] = torch.zeros_like(p)  # CULPRIT
            active.append(p)
        return active

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["step"] += 1
            beta, lr = group["momentum"], group["lr"]
            for p in self.init_group(group):
                if group["weight_decay"]:
                    p.mul_(1.0 - lr * group["weight_decay"])
                if beta > 0.0:
                    buf = self.state[p]["momentum_buffer"]
                    buf.mul_(beta).add_(p.grad, alpha=1.0 - beta)
                else:
                    buf = p.grad
                p.add_(buf.sign(), alpha=-lr)
        return loss


def make_spectra(n, generator, bins=40, noise=1.1):
    labels = torch.randint(0, len(FAULTS), (n,), generator=generator)
    axis = torch.arange(bins).float()
    lines = [[], [6], [13, 26], [18, 22, 31]]
    base = torch.stack([sum((torch.exp(-0.5 * ((axis - c) / 1.2) ** 2) for c in cs), torch.zeros(bins))
                        for cs in lines])
    amplitude = 0.8 + 0.4 * torch.rand(n, 1, generator=generator)
    return amplitude * base[labels] + noise * torch.randn(n, bins, generator=generator) * 0.5, labels


class SpectrumNet(nn.Module):
    def __init__(self, bins=40, width=48):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(bins, width), nn.ReLU(), nn.Linear(width, len(FAULTS)))

    def forward(self, x):
        return self.layers(x)


def run(momentum, args):
    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(args.seed)
    x, y = make_spectra(4000, g)
    x_val, y_val = make_spectra(800, g)
    net = SpectrumNet()
    opt = Signum(net.parameters(), lr=args.lr, momentum=momentum, weight_decay=1e-2)
    tail = []
    for it in range(args.steps):
        idx = torch.randint(0, len(x), (args.batch,), generator=g)
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it >= args.steps - 100:
            with torch.no_grad():
                tail.append(F.cross_entropy(net(x_val), y_val).item())
    tail = torch.tensor(tail)
    with torch.no_grad():
        acc = (net(x_val).argmax(1) == y_val).float().mean().item()
    return tail.mean().item(), tail.std().item(), acc


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--seed", type=int, default=7)
    args = p.parse_args()
    print("momentum   val loss (mean, std of the last 100 steps)   accuracy")
    for momentum in (0.0, 0.5, 0.8, 0.9):
        mean, std, acc = run(momentum, args)
        print(f"{momentum:8.2f}   {mean:.4f} +- {std:.4f}   {acc:.3f}")


if __name__ == "__main__":
    main()
