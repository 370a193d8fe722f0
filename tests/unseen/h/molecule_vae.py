"""WRONG. The KL term of the VAE produces wrong gradients, the posterior's variance does not go to one where the latent is not used.
TRUTH: The KL divergence treats logvar as if it were sigma (logvar**2 - log(logvar**2)); it must use exp(logvar) - logvar.
THREAD: https://github.com/deepchem/deepchem/pull/4888
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_BITS, LATENT = 64, 8


def fingerprints(n):
    """binary fingerprints driven by three hidden factors"""
    g = torch.Generator().manual_seed(5)
    loading = 2.5 * torch.randn(3, N_BITS, generator=g)
    factors = torch.randn(n, 3)
    return torch.bernoulli(torch.sigmoid(factors @ loading))


class VAE_ELBO(nn.Module):
    def __init__(self, kl_scale=1.0):
        super().__init__()
        self.kl_scale = kl_scale

    def kl_divergence(self, logvar, mu):
        logvar = torch.square(logvar) + 1e-20  # CULPRIT
        kl = 0.5 * (torch.square(mu) + logvar - torch.log(logvar) - 1)
        return kl.mean(1)

    def forward(self, logvar, mu, x, reconstruction_x):
        bce = F.binary_cross_entropy(reconstruction_x, x, reduction='none')
        return bce.mean(1) + self.kl_scale * self.kl_divergence(logvar, mu)


class MoleculeVAE(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(N_BITS, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, LATENT)
        self.logvar = nn.Linear(hidden, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, hidden), nn.ReLU(),
                                     nn.Linear(hidden, N_BITS), nn.Sigmoid())

    def encode(self, x):
        h = self.encoder(x)
        return self.mu(h), self.logvar(h)

    def sample(self, mu, logvar):
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decoder(self.sample(mu, logvar)), mu, logvar


train_x = fingerprints(2048)
valid_x = fingerprints(512)

model = MoleculeVAE()
loss_fn = VAE_ELBO(kl_scale=LATENT / N_BITS)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate():
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(valid_x)
        bce = F.binary_cross_entropy(recon, valid_x).item()
        # how far is the aggregate posterior from the prior that we sample from
        var = logvar.exp().mean(0) + mu.var(0)
        prior = model.decoder(torch.randn(512, LATENT))
        gap = (prior.mean(0) - valid_x.mean(0)).abs().mean().item()
    model.train()
    return bce, var.min().item(), var.max().item(), gap


for epoch in range(1, 31):
    perm = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(perm), 128):
        x = train_x[perm[i:i + 128]]
        recon, mu, logvar = model(x)
        loss = loss_fn(logvar, mu, x, recon).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 0:
        print('epoch %d loss %.4f  valid bce %.4f  posterior var %.2f..%.2f  prior gap %.3f'
              % ((epoch, total / 16) + evaluate()))
