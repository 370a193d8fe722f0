"""EDAPINENUT/GNTPP#5, "Coding error in GNTPP/models/prob_decoders/diffusion_modules/gaussian_diffusion.py"
Symptom: the loss goes down nicely but the samples of the diffusion model do not look like the data.
EXPECT: runs
TRUTH: the network's output is compared with the noisy sample x_noisy instead of with the noise that was added; use noise in the loss.
"""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
torch.set_num_threads(1)


def make_intervals(n):
    comp = torch.randint(0, 2, (n, 1)).float()
    return torch.cat([comp * 2 - 1, 1 - 2 * comp], dim=1) * 1.2 + 0.15 * torch.randn(n, 2)


class DenoiseNet(nn.Module):
    def __init__(self, dim=2, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim + 8, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, dim),
        )
        self.register_buffer("freq", torch.exp(torch.linspace(0, math.log(50.0), 4)))

    def forward(self, x, t):
        ang = t.float().unsqueeze(-1) / 40 * self.freq
        return self.net(torch.cat([x, ang.sin(), ang.cos()], dim=-1))


class GaussianDiffusion(nn.Module):
    def __init__(self, denoise_fn, timesteps=40):
        super().__init__()
        self.denoise_fn = denoise_fn
        self.num_timesteps = timesteps
        betas = torch.linspace(1e-3, 0.2, timesteps)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas", 1 - betas)
        self.register_buffer("alphas_bar", torch.cumprod(1 - betas, 0))

    def q_sample(self, x_start, t, noise):
        a = self.alphas_bar[t].unsqueeze(-1)
        return a.sqrt() * x_start + (1 - a).sqrt() * noise

    def p_losses(self, x_start, t, noise=None):
        if noise is None:
            noise = torch.randn_like(x_start)
        x_noisy = self.q_sample(x_start, t, noise)
        x_recon = self.denoise_fn(x_noisy, t)
        loss = torch.square(x_noisy - x_recon).sum(-1).mean()  # CULPRIT
        return loss

    def log_prob(self, x):
        t = torch.randint(0, self.num_timesteps, (x.size(0),))
        return self.p_losses(x, t)

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.num_timesteps)):
            t = torch.full((n,), i)
            eps = self.denoise_fn(x, t)
            x = (x - self.betas[i] / (1 - self.alphas_bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def main():
    data = make_intervals(3000)
    loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)
    diffusion = GaussianDiffusion(DenoiseNet())
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
    for epoch in range(40):
        total = 0.0
        for (x,) in loader:
            loss = diffusion.log_prob(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 10 == 0 or epoch == 39:
            print("epoch %d loss %.4f" % (epoch, total / len(loader)))
    samples = diffusion.sample(1000)
    nearest = torch.cdist(samples, data).min(dim=1)[0]
    print("std of the data %.3f of the samples %.3f" % (data.std().item(), samples.std().item()))
    print("distance of a sample to the nearest data point %.4f" % nearest.mean().item())


if __name__ == "__main__":
    main()
