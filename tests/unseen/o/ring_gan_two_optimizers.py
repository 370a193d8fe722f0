"""GAN on a 2-D ring, training loop with one closure per optimizer.

A small trainer in the style of lightning modules: `training_step(batch, idx)` returns the
loss of generator (0) or discriminator (1), the trainer runs backward and step for each.

TRUTH: The trainer clears gradients after optimizer.step() and only for the optimizer just used. The generator's backward also
fills the discriminator's gradients (it must pass through it), and they are still there when the discriminator's own loss is
accumulated, so the discriminator is pushed towards calling fakes real and never learns: the samples stay spread around the ring.
Fix: clear the gradients of the whole model after each step (or the own ones right before backward). Drawn from Lightning-AI/pytorch-lightning#591 (GAN
training with Pytorch Lightning is broken), also #557.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def ring(n, seed, radius=2.0, noise=0.08):
    g = torch.Generator().manual_seed(seed)
    angle = 2 * math.pi * torch.rand(n, generator=g)
    r = radius + noise * torch.randn(n, generator=g)
    return torch.stack([r * torch.cos(angle), r * torch.sin(angle)], dim=1)


class Generator(nn.Module):
    def __init__(self, latent_dim, hidden=64):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, 2))

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(2, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1))

    def forward(self, x):
        return self.model(x).squeeze(1)


class GAN(nn.Module):
    def __init__(self, latent_dim=4, lr=1e-3, b1=0.5, b2=0.99):
        super().__init__()
        self.latent_dim = latent_dim
        self.lr, self.betas = lr, (b1, b2)
        self.generator = Generator(latent_dim)
        self.discriminator = Discriminator()

    def adversarial_loss(self, y_hat, y):
        return F.binary_cross_entropy_with_logits(y_hat, y)

    def training_step(self, batch, optimizer_idx):
        x, = batch
        z = torch.randn(len(x), self.latent_dim)
        if optimizer_idx == 0:
            fake = self.generator(z)
            return self.adversarial_loss(self.discriminator(fake), torch.ones(len(x)))
        fake = self.generator(z).detach()
        real_loss = self.adversarial_loss(self.discriminator(x), torch.ones(len(x)))
        fake_loss = self.adversarial_loss(self.discriminator(fake), torch.zeros(len(x)))
        return (real_loss + fake_loss) / 2

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=self.lr, betas=self.betas)
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=self.lr, betas=self.betas)
        return [opt_g, opt_d]

    @torch.no_grad()
    def sample_radius(self, n=2000):
        r = self.generator(torch.randn(n, self.latent_dim)).norm(dim=1)
        return r.mean().item(), r.std().item()


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def optimizer_step(self, model, batch, idx, optimizers):
        loss = model.training_step(batch, idx)
        loss.backward()
        optimizers[idx].step()
        optimizers[idx].zero_grad()  # CULPRIT
        return loss.item()

    def fit(self, model, loader):
        optimizers = model.configure_optimizers()
        model.train()
        for epoch in range(1, self.max_epochs + 1):
            sums = [0.0, 0.0]
            for batch in loader:
                for idx in range(len(optimizers)):
                    sums[idx] += self.optimizer_step(model, batch, idx, optimizers)
            if epoch % 10 == 0:
                mean, std = model.sample_radius()
                print("epoch %3d  g loss %.3f  d loss %.3f | sample radius %.2f +- %.2f"
                      % (epoch, sums[0] / len(loader), sums[1] / len(loader), mean, std))


def main():
    torch.manual_seed(12)
    loader = DataLoader(TensorDataset(ring(1024, 0)), batch_size=128, shuffle=True)
    model = GAN()
    Trainer(max_epochs=60).fit(model, loader)
    x = ring(1000, 1)
    with torch.no_grad():
        fake = model.generator(torch.randn(1000, model.latent_dim))
    near = ((fake.norm(dim=1) - 2.0).abs() < 0.3).float().mean().item()
    nearest = torch.cdist(x, fake).min(dim=1).values.mean().item()
    print("samples near the ring %.3f, mean distance of a real point to the nearest sample %.3f" % (near, nearest))


if __name__ == "__main__":
    main()
