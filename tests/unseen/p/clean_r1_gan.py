"""Non-saturating GAN on a ring of Gaussians: lazy R1 penalty (double backward), alternating Adams, EMA generator.

TRUTH: correct: The penalty is computed every 4th critic step only and scaled by that interval (lazy
regularisation); it needs create_graph=True on the gradient with respect to the real inputs. The critic's parameters
are switched to requires_grad=False while the generator is trained, so that no critic gradient is piled up, and back
afterwards; the fakes of the critic step are made under no_grad. The EMA generator is never optimised, only averaged,
and is used for evaluation. All deliberate.
"""
import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def mlp(*dims):
    mods = []
    for a, b in zip(dims[:-2], dims[1:-1]):
        mods += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    mods.append(nn.Linear(dims[-2], dims[-1]))
    return nn.Sequential(*mods)


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


class RingData:
    def __init__(self, modes=8, radius=1.0, std=0.06, seed=0):
        ang = torch.arange(modes) * 2 * math.pi / modes
        self.centers = radius * torch.stack([ang.cos(), ang.sin()], 1)
        self.std = std
        self.gen = torch.Generator().manual_seed(seed)

    def sample(self, n):
        k = torch.randint(0, len(self.centers), (n,), generator=self.gen)
        return self.centers[k] + self.std * torch.randn(n, 2, generator=self.gen)

    def report(self, x):
        d = torch.cdist(x, self.centers)
        near, which = d.min(1)
        good = near < 3 * self.std
        covered = len(which[good].unique())
        return covered, good.float().mean().item()


def r1_penalty(critic, real):
    real = real.detach().requires_grad_(True)
    score = critic(real).sum()
    grad, = torch.autograd.grad(score, real, create_graph=True)
    return grad.pow(2).sum(1).mean()


@torch.no_grad()
def ema_update(avg, net, decay):
    for a, p in zip(avg.parameters(), net.parameters()):
        a.mul_(decay).add_(p, alpha=1 - decay)
    for a, b in zip(avg.buffers(), net.buffers()):
        a.copy_(b)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=900)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--z", type=int, default=8)
    ap.add_argument("--gamma", type=float, default=0.4)
    ap.add_argument("--r1-every", type=int, default=4)
    ap.add_argument("--ema", type=float, default=0.99)
    args = ap.parse_args()

    torch.manual_seed(0)
    data = RingData()
    gen = mlp(args.z, 64, 64, 2)
    critic = mlp(2, 64, 64, 1)
    gen_avg = copy.deepcopy(gen)
    toggle(gen_avg, False)
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.99))

    r1 = torch.zeros(())
    for it in range(args.iters):
        real = data.sample(args.batch)
        with torch.no_grad():
            fake = gen(torch.randn(args.batch, args.z))
        loss_d = F.softplus(critic(fake)).mean() + F.softplus(-critic(real)).mean()
        opt_d.zero_grad(set_to_none=True)
        loss_d.backward()
        if it % args.r1_every == 0:
            r1 = r1_penalty(critic, real)
            (0.5 * args.gamma * args.r1_every * r1).backward()
        opt_d.step()

        toggle(critic, False)
        loss_g = F.softplus(-critic(gen(torch.randn(args.batch, args.z)))).mean()
        opt_g.zero_grad(set_to_none=True)
        loss_g.backward()
        opt_g.step()
        toggle(critic, True)
        ema_update(gen_avg, gen, args.ema)

        if it % 150 == 0 or it == args.iters - 1:
            with torch.no_grad():
                modes, good = data.report(gen_avg(torch.randn(1024, args.z)))
            print(f"iter {it:4d}  D {loss_d.item():.4f}  G {loss_g.item():.4f}  R1 {r1.item():.4f}  "
                  f"modes {modes}/8  on-mode {good:.2f}")


if __name__ == "__main__":
    main()
