"""RIGHT. WGAN-GP on a ring of gaussians: the critic is frozen during the generator step, fakes are detached in the critic step, and the penalty is a second derivative.
TRUTH: the interpolated points are a fresh leaf, the gradient is taken with create_graph so the penalty trains the critic; requires_grad of the critic is switched off only for the generator step (the gradient still flows through it to the generator) and back on before its own step.
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


def mlp(i, o, h=64, act=nn.LeakyReLU):
    return nn.Sequential(nn.Linear(i, h), act(0.2), nn.Linear(h, h), act(0.2), nn.Linear(h, o))


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def sample_ring(n):
    k = torch.randint(0, 8, (n,)).float()
    ang = 2 * math.pi * k / 8
    return torch.stack([ang.cos(), ang.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    grad, = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    norm = (grad.pow(2).sum(dim=1) + 1e-12).sqrt()
    return ((norm - 1) ** 2).mean()


class Trainer:
    def __init__(self, nz=4, n_critic=4, lam=10.0, batch=128):
        self.nz, self.n_critic, self.lam, self.batch = nz, n_critic, lam, batch
        self.G, self.D = mlp(nz, 2), mlp(2, 1)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.0, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.0, 0.9))

    def noise(self):
        return torch.randn(self.batch, self.nz)

    def critic_step(self):
        set_requires_grad(self.D, True)
        real = sample_ring(self.batch)
        fake = self.G(self.noise()).detach()
        wdist = self.D(real).mean() - self.D(fake).mean()
        gp = gradient_penalty(self.D, real, fake)
        self.opt_d.zero_grad()
        (self.lam * gp - wdist).backward()
        self.opt_d.step()
        return wdist.item(), gp.item()

    def generator_step(self):
        set_requires_grad(self.D, False)
        loss = -self.D(self.G(self.noise())).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    @torch.no_grad()
    def radius(self):
        self.G.eval()
        r = self.G(torch.randn(1000, self.nz)).norm(dim=1)
        self.G.train()
        return r.mean().item(), r.std().item()


if __name__ == "__main__":
    trainer = Trainer()
    for it in range(60):
        for _ in range(trainer.n_critic):
            wdist, gp = trainer.critic_step()
        g_loss = trainer.generator_step()
        if it % 15 == 0 or it == 59:
            print("it %2d W %.3f gp %.4f G %.3f radius %.2f +- %.2f" % ((it, wdist, gp, g_loss) + trainer.radius()))
