"""Spectrally normalised GAN on tiny synthetic images (bright discs), hinge loss, hand-written SN layers.

TRUTH: The power-iteration vector is a buffer that is updated in place at every forward, and sigma is computed from
the buffer itself, so autograd saves the buffer for the backward of sigma. The discriminator is run twice (real,
fake) before one backward: the second forward overwrites the vector that the first one saved, and backward raises
"one of the variables needed for gradient computation has been modified by an inplace operation". Fix: take a copy
for the graph (u = self.u.clone()) when sigma is computed. Drawn from pytorch/pytorch#13350.
"""
import torch
from torch import nn
import torch.nn.functional as F


class SpectralNormMixin:
    def init_sn(self, weight, n_iter=1):
        self.n_iter = n_iter
        flat = weight.flatten(1)
        self.register_buffer("u", F.normalize(torch.randn(flat.size(0)), dim=0))

    def normalised(self, weight):
        flat = weight.flatten(1)
        if self.training:
            with torch.no_grad():
                for _ in range(self.n_iter):
                    v = F.normalize(flat.t() @ self.u, dim=0)
                    torch.mv(flat, v, out=self.u)
                    F.normalize(self.u, dim=0, out=self.u)
        else:
            v = F.normalize(flat.t() @ self.u, dim=0).detach()
        u = self.u  # CULPRIT
        sigma = torch.dot(u, torch.mv(flat, v))
        return weight / sigma


class SNConv2d(nn.Conv2d, SpectralNormMixin):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.init_sn(self.weight)

    def forward(self, x):
        return F.conv2d(x, self.normalised(self.weight), self.bias, self.stride, self.padding)


class SNLinear(nn.Linear, SpectralNormMixin):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.init_sn(self.weight)

    def forward(self, x):
        return F.linear(x, self.normalised(self.weight), self.bias)


class Discriminator(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            SNConv2d(1, ch, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            SNConv2d(ch, 2 * ch, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.Flatten(), SNLinear(2 * ch * 9, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


class Generator(nn.Module):
    def __init__(self, z_dim=16, ch=16):
        super().__init__()
        self.fc = nn.Linear(z_dim, 2 * ch * 9, bias=False)
        self.net = nn.Sequential(
            nn.BatchNorm2d(2 * ch), nn.ReLU(),
            nn.ConvTranspose2d(2 * ch, ch, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.ConvTranspose2d(ch, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )

    def forward(self, z):
        h = self.fc(z)
        return self.net(h.view(len(z), -1, 3, 3))


def discs(n, gen, size=12):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = 4 + 4 * torch.rand(n, 1, 1, generator=gen)
    cy = 4 + 4 * torch.rand(n, 1, 1, generator=gen)
    r = 2 + 1.5 * torch.rand(n, 1, 1, generator=gen)
    d = ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()
    return torch.sigmoid(3 * (r - d)).unsqueeze(1)


def train(steps=120, batch=32):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    G, D = Generator(), Discriminator()
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))
    for step in range(steps):
        real = discs(batch, gen)
        with torch.no_grad():
            fake = G(torch.randn(batch, 16, generator=gen))
        d_real, d_fake = D(real), D(fake)
        loss_d = F.relu(1 - d_real).mean() + F.relu(1 + d_fake).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = -D(G(torch.randn(batch, 16, generator=gen))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 20 == 0:
            print(f"step {step:4d}  D {loss_d.item():.4f}  G {loss_g.item():.4f}  "
                  f"real {d_real.mean().item():+.3f}  fake {d_fake.mean().item():+.3f}")


if __name__ == "__main__":
    train()
