"""RIGHT. WGAN-GP on a ring of points: two optimizers, detached fakes, second derivatives, critic switched off for the
generator step.
TRUTH: the fakes of the critic step are constants; the penalty is built with create_graph=True on fresh leaf points; in the
generator step the critic's parameters need no gradient, but the gradient passes through it to the generator.
"""
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


def mlp(n_in, n_out, width=48):
    return nn.Sequential(nn.Linear(n_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, n_out))


def ring(n):
    a = torch.rand(n) * 2 * math.pi
    r = 2.0 + 0.1 * torch.randn(n)
    return torch.stack([r * torch.cos(a), r * torch.sin(a)], dim=1)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    points = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(points)
    grad, = torch.autograd.grad(score.sum(), points, create_graph=True)
    return ((grad.pow(2).sum(1) + 1e-12).sqrt() - 1).pow(2).mean()


class GAN:
    def __init__(self, latent=4):
        self.latent = latent
        self.generator = mlp(latent, 2)
        self.critic = mlp(2, 1)
        self.opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def sample(self, n):
        return self.generator(torch.randn(n, self.latent))

    def critic_step(self, n, lam=5.0):
        real = ring(n)
        fake = self.sample(n).detach()
        gap = self.critic(fake).mean() - self.critic(real).mean()
        penalty = gradient_penalty(self.critic, real, fake)
        self.opt_c.zero_grad()
        (gap + lam * penalty).backward()
        self.opt_c.step()
        return gap.item(), penalty.item()

    def generator_step(self, n):
        self.critic.requires_grad_(False)
        loss = -self.critic(self.sample(n)).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        self.critic.requires_grad_(True)
        return loss.item()


def radius_report(gan, n=1000):
    with torch.no_grad():
        p = gan.sample(n)
    r = p.norm(dim=1)
    quadrants = [((p[:, 0] > 0) == a) & ((p[:, 1] > 0) == b) for a in (True, False) for b in (True, False)]
    share = ' '.join('%.2f' % q.float().mean().item() for q in quadrants)
    return 'radius %.2f +- %.2f, quadrants %s' % (r.mean().item(), r.std().item(), share)


def main():
    gan = GAN()
    print('start:', radius_report(gan))
    for it in range(75):
        for _ in range(3):
            gap, penalty = gan.critic_step(128)
        g_loss = gan.generator_step(128)
        if it % 25 == 24:
            print('iter %3d gap %.3f penalty %.4f generator %.3f' % (it + 1, gap, penalty, g_loss))
            print('  ', radius_report(gan))


if __name__ == '__main__':
    main()
