"""deepchem/deepchem#4888, "fix: Loss corrections - KL Divergence, Poisson"
Symptom: the KL term of the VAE goes down but the posterior standard deviations and the samples from the prior are off.
EXPECT: runs
TRUTH: the KL formula treats logvar as sigma (logvar**2 and log(logvar**2)); it must use exp(logvar) and logvar.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
torch.set_num_threads(1)


def make_molecule_descriptors(n, dim=12, factors=2):
    w = torch.randn(factors, dim)
    return torch.randn(n, factors) @ w + 0.3 * torch.randn(n, dim)


class VAE(nn.Module):
    def __init__(self, dim=12, hidden=48, latent=5):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.fc_mu = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.fc_mu(h), self.fc_logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


class VAE_KLDivergence:
    def __call__(self, logvar, mu):
        kl = mu ** 2 + logvar ** 2 - torch.log(1e-20 + logvar ** 2) - 1  # CULPRIT
        return 0.5 * kl.sum(-1)


class VAE_ELBO:
    def __init__(self, noise_std=0.3):
        self.kl = VAE_KLDivergence()
        self.noise_std = noise_std

    def __call__(self, recon, x, logvar, mu):
        rec = F.mse_loss(recon, x, reduction="none").sum(-1) / (2 * self.noise_std ** 2)
        return (rec + self.kl(logvar, mu)).mean()


def main():
    data = make_molecule_descriptors(2000)
    loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)
    model = VAE()
    elbo = VAE_ELBO()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(50):
        total = 0.0
        for (x,) in loader:
            recon, mu, logvar = model(x)
            loss = elbo(recon, x, logvar, mu)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 12 == 0 or epoch == 49:
            print("epoch %d loss %.3f" % (epoch, total / len(loader)))
    with torch.no_grad():
        _, mu, logvar = model(data)
        agg_std = torch.sqrt(mu.var(0) + logvar.exp().mean(0))
        samples = model.decoder(torch.randn(2000, model.latent))
    print("std of the aggregated posterior:", [round(v, 2) for v in agg_std.tolist()])
    print("std of the data %.3f, of the samples %.3f" % (data.std(0).mean().item(), samples.std(0).mean().item()))


if __name__ == "__main__":
    main()
