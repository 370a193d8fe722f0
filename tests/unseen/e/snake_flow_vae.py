"""wohlert/semi-supervised-pytorch#21, "Norm. flows bug maybe"
Symptom: the VAE with normalizing flows: the "ELBO" gets absurdly good, the reconstruction gets worse.
EXPECT: runs
TRUTH: log_det_z has one value per sample (already summed over the flows); sum(log_det_z) adds up the whole batch and subtracts it from every sample; subtract log_det_z itself.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)
torch.set_num_threads(1)


def log_gaussian(x, mu, log_var):
    log_pdf = -0.5 * math.log(2 * math.pi) - log_var / 2 - (x - mu) ** 2 / (2 * torch.exp(log_var))
    return log_pdf.sum(-1)


def log_standard_gaussian(x):
    return (-0.5 * math.log(2 * math.pi) - x ** 2 / 2).sum(-1)


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.u = nn.Parameter(0.1 * torch.randn(dim))
        self.w = nn.Parameter(0.1 * torch.randn(dim))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        uw = (self.u * self.w).sum()
        u_hat = self.u + (F.softplus(uw) - 1 - uw) * self.w / (self.w ** 2).sum().clamp(min=1e-6)
        act = torch.tanh(z @ self.w + self.b)
        psi = (1 - act ** 2).unsqueeze(-1) * self.w
        log_det = torch.log(torch.abs(1 + psi @ u_hat) + 1e-7)
        return z + u_hat * act.unsqueeze(-1), log_det


class NormalizingFlows(nn.Module):
    def __init__(self, dim, n_flows=4):
        super().__init__()
        self.flows = nn.ModuleList([PlanarFlow(dim) for _ in range(n_flows)])

    def forward(self, z):
        log_det = []
        for flow in self.flows:
            z, ld = flow(z)
            log_det.append(ld)
        return z, sum(log_det)


class VariationalAutoencoder(nn.Module):
    def __init__(self, x_dim=10, h_dim=40, z_dim=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, h_dim), nn.ReLU(), nn.Linear(h_dim, 2 * z_dim))
        self.decoder = nn.Sequential(nn.Linear(z_dim, h_dim), nn.ReLU(), nn.Linear(h_dim, x_dim))
        self.flow = NormalizingFlows(z_dim)
        self.kl_divergence = 0

    def _kld(self, z, mu, log_var):
        f_z, log_det_z = self.flow(z)
        qz = log_gaussian(z, mu, log_var) - sum(log_det_z)  # CULPRIT
        pz = log_standard_gaussian(f_z)
        return f_z, qz - pz

    def forward(self, x):
        mu, log_var = self.encoder(x).chunk(2, dim=-1)
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        z, self.kl_divergence = self._kld(z, mu, log_var)
        return self.decoder(z)


def make_rings(n, x_dim=10):
    angle = 2 * math.pi * torch.rand(n)
    ring = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)
    return torch.tanh(ring @ torch.randn(2, x_dim)) + 0.1 * torch.randn(n, x_dim)


def main():
    loader = DataLoader(TensorDataset(make_rings(2000)), batch_size=50, shuffle=True)
    model = VariationalAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(25):
        rec_sum = elbo_sum = 0.0
        for (x,) in loader:
            recon = model(x)
            likelihood = -((recon - x) ** 2).sum(-1) / (2 * 0.1 ** 2)
            elbo = likelihood - model.kl_divergence
            loss = -elbo.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rec_sum += F.mse_loss(recon, x).item()
            elbo_sum += elbo.mean().item()
        if epoch % 6 == 0:
            print("epoch %d ELBO %.2f reconstruction mse %.4f" % (epoch, elbo_sum / len(loader), rec_sum / len(loader)))


if __name__ == "__main__":
    main()
