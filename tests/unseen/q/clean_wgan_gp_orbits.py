"""Learns the distribution of resonant orbits (a ring with three gaps) with a Wasserstein GAN and gradient penalty.

TRUTH: Right as it stands. The critic sees fakes made under no_grad, several times per generator step; its penalty is taken by
autograd.grad with create_graph on detached interpolates, the norm under a root with a small constant. For the generator's step
the critic's parameters are switched to requires_grad False (gradients still flow through it to the generator) and back on
afterwards. The critic's loss may be negative and does not decrease to 0; the moving average of the generator is used for samples.
"""
import argparse
import copy
import math

import torch
import torch.nn as nn


def orbits(n, g):
    angle = 2 * math.pi * torch.rand(4 * n, generator=g)
    keep = torch.cos(3 * angle) < 0.3
    angle = angle[keep][:n]
    radius = 1.5 + 0.08 * torch.randn(len(angle), generator=g)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


def net(n_in, n_out, width=64):
    return nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.1), nn.Linear(width, width), nn.LeakyReLU(0.1), nn.Linear(width, n_out))


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    point = (mix * real + (1 - mix) * fake).requires_grad_(True)
    slope, = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    return ((slope.square().sum(1) + 1e-12).sqrt() - 1).square().mean()


def switch(module, on):
    for p in module.parameters():
        p.requires_grad_(on)


@torch.no_grad()
def blend(average, source, decay):
    for a, s in zip(average.parameters(), source.parameters()):
        a.lerp_(s, 1 - decay)


@torch.no_grad()
def quality(generator, latent):
    x = generator(torch.randn(2000, latent))
    radius = x.norm(dim=1)
    on_ring = ((radius - 1.5).abs() < 0.3).float().mean().item()
    in_gap = (torch.cos(3 * torch.atan2(x[:, 1], x[:, 0])) > 0.5).float().mean().item()
    return on_ring, in_gap


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--critic-steps", type=int, default=2)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--latent", type=int, default=4)
    p.add_argument("--weight", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(31)
    generator, critic = net(args.latent, 2), net(2, 1)
    average = copy.deepcopy(generator).requires_grad_(False)
    opt_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
    print("start: on ring %.2f, in the gaps %.2f" % quality(average, args.latent))
    for step in range(1, args.steps + 1):
        for _ in range(args.critic_steps):
            real = orbits(args.batch, g)
            with torch.no_grad():
                fake = generator(torch.randn(len(real), args.latent))
            gap = critic(real).mean() - critic(fake).mean()
            loss_c = -gap + args.weight * penalty(critic, real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        switch(critic, False)
        loss_g = -critic(generator(torch.randn(args.batch, args.latent))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        switch(critic, True)
        blend(average, generator, 0.97)
        if step % 100 == 0:
            ring, hole = quality(average, args.latent)
            print(f"step {step}: distance {gap.item():.3f}  critic {loss_c.item():.3f}  generator {loss_g.item():.3f}  "
                  f"on ring {ring:.2f}  in the gaps {hole:.2f}")


if __name__ == "__main__":
    main()
