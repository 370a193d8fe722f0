"""WRONG. The loss of my VAE goes down and then stays on a plateau; reconstructions and samples are washed out, the dark
background never becomes dark. Reconstruction is worse than always answering the mean image.
TRUTH: the data module normalises the images to [-1, 1], the decoder ends in a Sigmoid, whose range is [0, 1]: negative
pixels cannot be produced. End the decoder in nn.Tanh() (or drop the normalisation).
THREAD: https://whosebug.com/question/5616116/What-could-cause-a-VAE-Variational-AutoEncoder-to-output-random-noise-even-after-training
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TextureDataModule:
    """Small RGB images: one coloured blob on a dark ground."""

    def __init__(self, n_train=256, n_val=64, size=12, batch_size=32):
        self.batch_size = batch_size
        self.train = self._make(n_train, size)
        self.val = self._make(n_val, size)

    @staticmethod
    def normalize(img, mean=0.5, std=0.5):
        return (img - mean) / std

    def _make(self, n, size):
        g = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(g, g, indexing='ij')
        c = torch.rand(n, 2, 1, 1) * 1.0 - 0.5
        blob = torch.exp(-((yy - c[:, :1]) ** 2 + (xx - c[:, 1:]) ** 2) / 0.1)
        colour = torch.rand(n, 3, 1, 1) * 0.6 + 0.4
        img = (blob * colour + 0.02 * torch.rand(n, 3, size, size)).clamp(0, 1)
        return TensorDataset(self.normalize(img))  # CULPRIT

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.batch_size)


class Encoder(nn.Module):
    def __init__(self, d_in, hidden, latent):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(d_in, hidden), nn.LeakyReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h).clamp(-8, 8)


class Decoder(nn.Module):
    def __init__(self, shape, hidden, latent):
        super().__init__()
        d_out = shape[0] * shape[1] * shape[2]
        self.body = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, d_out),
            nn.Sigmoid(),  # CULPRIT
            nn.Unflatten(1, shape),
        )

    def forward(self, z):
        return self.body(z)


class VAE(nn.Module):
    def __init__(self, shape=(3, 12, 12), hidden=96, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = Encoder(shape[0] * shape[1] * shape[2], hidden, latent)
        self.decoder = Decoder(shape, hidden, latent)

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decoder(z), mu, logvar

    def losses(self, x):
        recon, mu, logvar = self(x)
        r_loss = F.mse_loss(recon, x, reduction='none').sum((1, 2, 3)).mean()
        kl_loss = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(1).mean()
        return r_loss, kl_loss

    @torch.no_grad()
    def sample(self, n):
        return self.decoder(torch.randn(n, self.latent))


def main():
    dm = TextureDataModule()
    vae = VAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
    kl_weight = 0.2
    for epoch in range(20):
        vae.train()
        sums = torch.zeros(2)
        for (x,) in dm.train_dataloader():
            r_loss, kl_loss = vae.losses(x)
            optimizer.zero_grad()
            (r_loss + kl_weight * kl_loss).backward()
            optimizer.step()
            sums += torch.stack([r_loss, kl_loss]).detach()
        if epoch % 4 == 3:
            r, k = (sums / len(dm.train_dataloader())).tolist()
            print(f'epoch {epoch + 1:2d} recon {r:8.2f} kl {k:6.2f}')

    vae.eval()
    val = torch.cat([x for (x,) in dm.val_dataloader()])
    with torch.no_grad():
        mu, _ = vae.encoder(val)
        err = F.mse_loss(vae.decoder(mu), val).item()
    train = torch.cat([x for (x,) in dm.train_dataloader()])
    baseline = F.mse_loss(train.mean(0).expand_as(val), val).item()
    samples = vae.sample(64)
    print(f'val mse {err:.4f}  mean image {baseline:.4f}')
    print(f'pixel range: data {val.min():.2f}..{val.max():.2f}  samples {samples.min():.2f}..{samples.max():.2f}')


if __name__ == '__main__':
    main()
