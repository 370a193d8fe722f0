"""deepchem/deepchem#4888
Symptom: the KL regularization has wrong gradients: the aggregate posterior of the VAE does not match the prior, its variance is far above 1.
EXPECT: runs
TRUTH: the KL formula squares logvar as if it were the standard deviation; the variance is logvar.exp().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE_KLDivergence:
    def __call__(self, mu, logvar):
        variance = logvar.pow(2)  # CULPRIT
        return 0.5 * torch.mean(mu.pow(2) + variance - torch.log(1e-20 + variance) - 1, dim=-1)


class VAE_ELBO:
    def __init__(self):
        self.kl = VAE_KLDivergence()

    def __call__(self, logvar, mu, x, reconstruction_x, kl_scale=1.0):
        bce = F.binary_cross_entropy_with_logits(reconstruction_x, x, reduction="none")
        return bce.mean(dim=-1) + kl_scale * self.kl(mu, logvar)


class FingerprintVAE(nn.Module):
    def __init__(self, n_bits=64, hidden=64, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(n_bits, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n_bits))

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def make_fingerprints(n, n_bits=64):
    scaffolds = (torch.rand(10, n_bits) < 0.3).float()
    x = scaffolds[torch.randint(0, 10, (n,))]
    flip = (torch.rand(n, n_bits) < 0.03).float()
    return (x - flip).abs()


def main():
    torch.manual_seed(123)
    torch.set_num_threads(1)
    data = make_fingerprints(1600)
    loader = DataLoader(TensorDataset(data), batch_size=64, shuffle=True)
    model = FingerprintVAE()
    criterion = VAE_ELBO()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 25):
        total, kls = 0.0, 0.0
        for (x,) in loader:
            logits, mu, logvar = model(x)
            loss = criterion(logvar, mu, x, logits, kl_scale=0.05).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            kls += criterion.kl(mu, logvar).mean().item()
        if epoch % 4 == 0:
            print("epoch %2d  elbo %.4f  kl %.4f" % (epoch, total / len(loader), kls / len(loader)))
    with torch.no_grad():
        _, mu, logvar = model(data)
        aggregate = mu.var(0) + logvar.exp().mean(0)
        true_kl = 0.5 * (mu.pow(2) + logvar.exp() - logvar - 1).mean()
    print("variance of the aggregate posterior:", [round(v, 2) for v in aggregate.tolist()])
    print("analytic kl of the trained posterior: %.4f" % true_kl)


if __name__ == "__main__":
    main()
