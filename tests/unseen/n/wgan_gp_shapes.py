"""WRONG. The gradient penalty rises to more than 100 and the critic is far from 1-Lipschitz: the norm of its gradient per image goes to about 60, the critic scores explode.
TRUTH: the gradients have shape (B, 1, H, W); norm(2, dim=1) is taken over the single channel, so each pixel (not each image) is pulled to norm 1. Flatten first: gradients.view(B, -1).norm(2, dim=1).
THREAD: https://github.com/caogang/wgan-gp/issues/27
"""
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)

BATCH_SIZE = 32
DIM = 12
Z_DIM = 8
LAMBDA = 10
CRITIC_ITERS = 4
ITERS = 35


def inf_train_gen():
    ys, xs = torch.meshgrid(torch.arange(DIM), torch.arange(DIM), indexing="ij")
    while True:
        cx = torch.empty(BATCH_SIZE, 1, 1, 1).uniform_(4, 8)
        cy = torch.empty(BATCH_SIZE, 1, 1, 1).uniform_(4, 8)
        yield torch.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / 6.0) * 2 - 1


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(Z_DIM, 16 * 3 * 3)
        self.main = nn.Sequential(
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.ReLU(True),
            nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(self.fc(z).view(-1, 16, 3, 3))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2),
        )
        self.out = nn.Linear(32 * 3 * 3, 1)

    def forward(self, x):
        return self.out(self.main(x).flatten(1)).view(-1)


def interpolate(real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1)
    return (alpha * real + (1 - alpha) * fake).detach().requires_grad_(True)


def calc_gradient_penalty(netD, real_data, fake_data):
    interpolates = interpolate(real_data, fake_data)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones_like(disc_interpolates),
                              create_graph=True, retain_graph=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA  # CULPRIT
    return gradient_penalty


def lipschitz_report(netD, real, fake):
    x = interpolate(real, fake)
    g, = autograd.grad(netD(x).sum(), x)
    return g.flatten(1).norm(dim=1).mean().item()


def main():
    netG, netD = Generator(), Discriminator()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.9))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.9))
    data = inf_train_gen()

    for iteration in range(ITERS):
        for p in netD.parameters():
            p.requires_grad_(True)
        for _ in range(CRITIC_ITERS):
            real = next(data)
            with torch.no_grad():
                fake = netG(torch.randn(BATCH_SIZE, Z_DIM))
            netD.zero_grad()
            gp = calc_gradient_penalty(netD, real, fake)
            D_real, D_fake = netD(real).mean(), netD(fake).mean()
            D_cost = D_fake - D_real + gp
            D_cost.backward()
            optimizerD.step()

        for p in netD.parameters():
            p.requires_grad_(False)
        netG.zero_grad()
        G_cost = -netD(netG(torch.randn(BATCH_SIZE, Z_DIM))).mean()
        G_cost.backward()
        optimizerG.step()

        if iteration % 8 == 0 or iteration == ITERS - 1:
            print(f"iter {iteration:3d}  W {(D_real - D_fake).item():8.3f}  gp {gp.item():7.3f}  "
                  f"gradient norm per image {lipschitz_report(netD, real, fake):.3f}")


if __name__ == "__main__":
    main()
