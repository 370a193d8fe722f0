# kind: losses_kept_with_graph
"""Beta-VAE on synthetic spectra, with a history of all terms for the plots at the end."""
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn


class SpectraVAE(nn.Module):
    def __init__(self, bins=40, latent=4, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(bins, hidden), nn.SiLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, bins)
        )

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


class History:
    """Series of scalars by name."""

    def __init__(self):
        self.series = defaultdict(list)

    def log(self, **scalars):
        for name, value in scalars.items():
            self.series[name].append(value)  # CULPRIT

    def mean(self, name, last):
        values = self.series[name][-last:]
        return float(sum(values)) / len(values)

    def size(self):
        return sum(len(v) for v in self.series.values())


def elbo_terms(x, recon, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec, kl


def spectra(n, bins=40):
    grid = torch.linspace(-1, 1, bins)
    centre = torch.rand(n, 1) * 1.4 - 0.7
    width = 0.1 + 0.2 * torch.rand(n, 1)
    return torch.exp(-(((grid - centre) / width) ** 2)) + 0.02 * torch.randn(n, bins)


def main():
    torch.manual_seed(0)
    data = spectra(512)
    vae, history = SpectraVAE(), History()
    opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
    for epoch in range(10):
        batches = torch.randperm(len(data)).split(64)
        for idx in batches:
            recon, mu, logvar = vae(data[idx])
            rec, kl = elbo_terms(data[idx], recon, mu, logvar)
            loss = rec + 0.1 * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.log(loss=loss, rec=rec, kl=kl)
        n = len(batches)
        print(
            f"epoch {epoch} rec {history.mean('rec', n):.3f} kl {history.mean('kl', n):.3f} "
            f"entries {history.size()}"
        )


main()
