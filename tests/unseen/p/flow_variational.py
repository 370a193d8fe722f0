"""Variational inference with a coupling flow: fit an unnormalised ring-shaped density by reverse KL.

TRUTH: forward_and_log_det() subtracts the log-determinants of the layers as if it were the inverse pass. In the
forward (sampling) direction they must be added: log q(x) = log q0(z) - log|det dx/dz|. With the sign flipped, the
reverse KL is E[log q0(z) + log_det - log p], which rewards contraction: the loss sinks below the value that a KL can
reach (-log Z of the target), the samples collapse to a thin set (small std) and the true log density of the samples
from the inverse pass disagrees with the one used in the loss. Fix: log_det = log_det + ld.
Drawn from VincentStimper/normalizing-flows#27.
"""
import math

import torch
import torch.nn as nn


class MLP(nn.Sequential):
    def __init__(self, n_in, n_out, width=48):
        super().__init__(
            nn.Linear(n_in, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, n_out),
        )
        nn.init.zeros_(self[-1].weight)
        nn.init.zeros_(self[-1].bias)


class AffineCoupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = MLP(1, 2)

    def split(self, x):
        a, b = x[:, :1], x[:, 1:]
        return (b, a) if self.flip else (a, b)

    def join(self, a, b):
        return torch.cat([b, a], dim=1) if self.flip else torch.cat([a, b], dim=1)

    def params(self, a):
        s, t = self.net(a).chunk(2, dim=1)
        return 1.5 * torch.tanh(s), t

    def forward(self, z):
        a, b = self.split(z)
        s, t = self.params(a)
        return self.join(a, b * s.exp() + t), s.sum(1)

    def inverse(self, x):
        a, b = self.split(x)
        s, t = self.params(a)
        return self.join(a, (b - t) * (-s).exp()), -s.sum(1)


class DiagGaussian:
    def __init__(self, dim):
        self.dim = dim

    def sample(self, n):
        return torch.randn(n, self.dim)

    def log_prob(self, z):
        return -0.5 * (z ** 2).sum(1) - 0.5 * self.dim * math.log(2 * math.pi)


class NormalizingFlow(nn.Module):
    def __init__(self, q0, flows, p=None):
        super().__init__()
        self.q0 = q0
        self.flows = nn.ModuleList(flows)
        self.p = p

    def forward_and_log_det(self, z):
        log_det = torch.zeros(len(z))
        for flow in self.flows:
            z, ld = flow(z)
            log_det = log_det - ld  # CULPRIT
        return z, log_det

    def inverse_and_log_det(self, x):
        log_det = torch.zeros(len(x))
        for flow in reversed(self.flows):
            x, ld = flow.inverse(x)
            log_det = log_det + ld
        return x, log_det

    def log_prob(self, x):
        z, log_det = self.inverse_and_log_det(x)
        return self.q0.log_prob(z) + log_det

    def reverse_kld(self, n, beta=1.0):
        z = self.q0.sample(n)
        x, log_det = self.forward_and_log_det(z)
        log_q = self.q0.log_prob(z) - log_det
        return (log_q - beta * self.p(x)).mean()


def ring(x, radius=2.0, width=0.4):
    r = x.norm(dim=1)
    return -0.5 * ((r - radius) / width) ** 2 + 0.2 * x[:, 0]


def log_normaliser(n=400, lim=6.0):
    g = torch.linspace(-lim, lim, n)
    xx, yy = torch.meshgrid(g, g, indexing="ij")
    cell = (2 * lim / (n - 1)) ** 2
    return (torch.logsumexp(ring(torch.stack([xx.reshape(-1), yy.reshape(-1)], 1)), 0) + math.log(cell)).item()


def main(steps=500, batch=256):
    torch.manual_seed(21)
    model = NormalizingFlow(DiagGaussian(2), [AffineCoupling(i % 2 == 0) for i in range(4)], p=ring)
    print(f"log Z of the target {log_normaliser():.3f}")
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)
    for it in range(steps):
        beta = min(1.0, 0.1 + it / 200)
        loss = model.reverse_kld(batch, beta)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        if it % 100 == 0 or it == steps - 1:
            print(f"it {it:4d}  beta {beta:.2f}  reverse KL (up to log Z) {loss.item():.4f}")
    with torch.no_grad():
        x, _ = model.forward_and_log_det(model.q0.sample(2000))
        print(f"sample mean {x.mean(0).tolist()}  std {x.std(0).tolist()}")
        print(f"mean radius {x.norm(dim=1).mean():.3f}  mean log q of the samples {model.log_prob(x).mean():.3f}")


if __name__ == "__main__":
    main()
