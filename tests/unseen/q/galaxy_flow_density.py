"""Estimates the density of galaxy colours with a small affine-coupling flow that has batch normalisation between its layers.

TRUTH: FlowBatchNorm updates its running mean and variance from the batch statistics with the graph attached
(self.running_mean = ... + mean * momentum). Each step's running statistics refer to the graphs of all earlier steps, none of which
can be freed: the process's memory grows steadily with every iteration until it is exhausted. Fix: mean.detach() and var.detach()
in the update (or do it under torch.no_grad). Drawn from https://github.com/bayesiains/nflows/pull/11.
"""
import argparse
import gc
import math
import time

import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, dim, width, flip):
        super().__init__()
        self.flip = flip
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 2 * half))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        shift, raw = self.net(a).chunk(2, 1)
        log_scale = 1.5 * torch.tanh(raw)
        b = b * log_scale.exp() + shift
        return torch.cat((b, a) if self.flip else (a, b), 1), log_scale.sum(1)


class FlowBatchNorm(nn.Module):
    def __init__(self, dim, momentum=0.1, eps=1e-5):
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.log_gain = nn.Parameter(torch.zeros(dim))
        self.offset = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0)
            keep = 1 - self.momentum
            self.running_mean = keep * self.running_mean + self.momentum * mean  # CULPRIT
            self.running_var = keep * self.running_var + self.momentum * var  # CULPRIT
        else:
            mean, var = self.running_mean, self.running_var
        y = (x - mean) / torch.sqrt(var + self.eps) * self.log_gain.exp() + self.offset
        log_det = (self.log_gain - 0.5 * torch.log(var + self.eps)).sum()
        return y, log_det.expand(len(x))


class Flow(nn.Module):
    def __init__(self, dim=4, width=128, depth=4):
        super().__init__()
        self.dim = dim
        steps = []
        for k in range(depth):
            steps += [Coupling(dim, width, bool(k % 2)), FlowBatchNorm(dim)]
        self.steps = nn.ModuleList(steps)

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, log_det = step(x)
            total = total + log_det
        return total - 0.5 * (x ** 2).sum(1) - 0.5 * self.dim * math.log(2 * math.pi)


def galaxy_colours(n, g):
    red = (torch.rand(n, 1, generator=g) < 0.4).float()
    age = torch.randn(n, 1, generator=g)
    u = 1.2 + 0.9 * red + 0.15 * age
    r = 0.4 + 0.3 * red + 0.1 * age ** 2
    i = 0.2 + 0.5 * torch.sin(u)
    z = 0.1 + 0.4 * r * i
    return torch.cat([u, r, i, z], 1) + 0.05 * torch.randn(n, 4, generator=g)


def resident_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2 ** 20


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=600)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    torch.manual_seed(9)
    g = torch.Generator().manual_seed(9)
    held_out = galaxy_colours(2000, g)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.iterations)
    start = time.time()
    for it in range(1, args.iterations + 1):
        loss = -flow.log_prob(galaxy_colours(args.batch, g)).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        sched.step()
        if it % 100 == 0:
            flow.eval()
            with torch.no_grad():
                nll = -flow.log_prob(held_out).mean().item()
            flow.train()
            gc.collect()
            print(f"it {it}: train nll {loss.item():.3f}  held-out {nll:.3f}  "
                  f"memory {resident_mb():.0f} MB  {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
