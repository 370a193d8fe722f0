"""WGAN-GP on small synthetic images.

8x8 grey images with one gaussian blob at a random position.  Convolutional
critic, gradient penalty as in Gulrajani et al.; at the end the mean gradient
norm of the critic on interpolated images is reported, it should be near 1.

TRUTH: The critic's input gradient has shape [B, 1, 8, 8] and is normed over dim=1 (the single channel), so every pixel's
gradient is pulled to magnitude 1 instead of the norm of the whole image's gradient. The Lipschitz constant ends near
sqrt(64) = 8 instead of 1 and the critic's values are several times too large. Fix: flatten to [B, -1] before the norm.
Drawn from caogang/wgan-gp#27 (Logic problem with calc_gradient_penalty in CNN case), also eriklindernoren/PyTorch-GAN#20.
"""
import torch
import torch.nn as nn
from torch import autograd
from torch.utils.data import Dataset, DataLoader

DIM = 16
NOISE = 8
LAMBDA = 10
CRITIC_ITERS = 3
BATCH_SIZE = 32
ITERS = 60


class Blobs(Dataset):
    def __init__(self, n=1024, size=8):
        g = torch.Generator().manual_seed(5)
        centre = 1.5 + (size - 4) * torch.rand(n, 2, generator=g)
        ys = torch.arange(size).view(1, size, 1)
        xs = torch.arange(size).view(1, 1, size)
        d = (ys - centre[:, 0].view(-1, 1, 1)) ** 2 + (xs - centre[:, 1].view(-1, 1, 1)) ** 2
        self.images = torch.exp(-d / 3.0).unsqueeze(1) * 2 - 1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Sequential(nn.Linear(NOISE, 2 * DIM * 2 * 2), nn.ReLU())
        self.main = nn.Sequential(
            nn.ConvTranspose2d(2 * DIM, DIM, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(DIM, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(self.pre(z).view(-1, 2 * DIM, 2, 2))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, DIM, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(DIM, 2 * DIM, 4, 2, 1), nn.LeakyReLU(0.2))
        self.out = nn.Linear(2 * DIM * 2 * 2, 1)

    def forward(self, x):
        return self.out(self.main(x).flatten(1)).view(-1)


def interpolate(real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1)
    return (alpha * real + (1 - alpha) * fake).detach().requires_grad_(True)


def calc_gradient_penalty(netD, real, fake):
    interpolates = interpolate(real, fake)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones_like(disc_interpolates),
                              create_graph=True, retain_graph=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA  # CULPRIT
    return gradient_penalty


def inf_loader(loader):
    while True:
        for x in loader:
            yield x


def lipschitz(netG, netD, real):
    x = interpolate(real, netG(torch.randn(real.size(0), NOISE)))
    g = autograd.grad(netD(x).sum(), x)[0]
    return g.flatten(1).norm(dim=1).mean().item()


def main():
    torch.manual_seed(0)
    data = inf_loader(DataLoader(Blobs(), BATCH_SIZE, shuffle=True, drop_last=True))
    netG, netD = Generator(), Critic()
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))

    for it in range(1, ITERS + 1):
        for p in netD.parameters():
            p.requires_grad_(True)
        for _ in range(CRITIC_ITERS):
            real = next(data)
            fake = netG(torch.randn(BATCH_SIZE, NOISE)).detach()
            optD.zero_grad()
            d_real, d_fake = netD(real).mean(), netD(fake).mean()
            gp = calc_gradient_penalty(netD, real, fake)
            (d_fake - d_real + gp).backward()
            optD.step()
        for p in netD.parameters():
            p.requires_grad_(False)
        optG.zero_grad()
        g_cost = -netD(netG(torch.randn(BATCH_SIZE, NOISE))).mean()
        g_cost.backward()
        optG.step()
        if it % 20 == 0:
            print("iter %d  wasserstein %.3f  penalty %.3f  G cost %.3f"
                  % (it, (d_real - d_fake).item(), gp.item(), g_cost.item()))

    print("mean gradient norm of the critic: %.2f" % lipschitz(netG, netD, next(data)))


if __name__ == "__main__":
    main()
