"""CORRECT. Latent flow and point flow trained together; z_new = z + (delta_log_pw * 0.).mean() adds an exact zero on purpose, to order the graph (asked what this autograd hack does; it is harmless).
THREAD: https://github.com/stevenygd/PointFlow/issues/27
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, dim, ctx=0, flip=False):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2 + ctx, 32), nn.Tanh(), nn.Linear(32, dim))

    def forward(self, x, ctx, logp):
        a, b = x.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        h = a if ctx is None else torch.cat([a, ctx], dim=-1)
        s, t = self.net(h).chunk(2, dim=-1)
        s = torch.tanh(s)
        b = b * torch.exp(s) + t
        y = torch.cat([b, a], -1) if self.flip else torch.cat([a, b], -1)
        return y, logp - s.sum(-1, keepdim=True)


class Flow(nn.Module):
    def __init__(self, dim, ctx=0, n=4):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(dim, ctx, flip=i % 2 == 1) for i in range(n)])

    def forward(self, x, ctx, logp):
        for layer in self.layers:
            x, logp = layer(x, ctx, logp)
        return x, logp


def standard_normal_logprob(z):
    return -0.5 * math.log(2 * math.pi) - z.pow(2) / 2


class PointFlow(nn.Module):
    def __init__(self, zdim=4):
        super().__init__()
        self.zdim = zdim
        self.enc = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32))
        self.to_z = nn.Linear(32, 2 * zdim)
        self.latent_cnf = Flow(zdim)
        self.point_cnf = Flow(2, ctx=zdim)

    def forward(self, x, opt):
        batch_size, num_points = x.size(0), x.size(1)
        z_mu, z_sigma = self.to_z(self.enc(x).max(dim=1)[0]).chunk(2, dim=1)
        z = z_mu + torch.exp(0.5 * z_sigma) * torch.randn_like(z_mu)
        entropy = 0.5 * self.zdim * (1 + math.log(2 * math.pi)) + 0.5 * z_sigma.sum(1)

        w, delta_log_pw = self.latent_cnf(z, None, torch.zeros(batch_size, 1))
        log_pw = standard_normal_logprob(w).sum(1, keepdim=True)
        log_pz = log_pw - delta_log_pw

        z_new = z.view(*z.size())
        z_new = z_new + (delta_log_pw * 0.).mean()
        ctx = z_new.unsqueeze(1).expand(-1, num_points, -1)
        y, delta_log_py = self.point_cnf(x, ctx, torch.zeros(batch_size, num_points, 1))
        log_py = standard_normal_logprob(y).sum(-1, keepdim=True)
        log_px = (log_py - delta_log_py).sum(1)

        recon_loss = -log_px.mean() / num_points
        prior_loss = -log_pz.mean()
        loss = recon_loss * 10 + 0.2 * (prior_loss - entropy.mean())
        opt.zero_grad()
        loss.backward()
        opt.step()
        return recon_loss.item(), prior_loss.item(), entropy.mean().item()


def clouds(n, k=40):
    c = torch.randn(n, 1, 2)
    r = torch.rand(n, 1, 1) * 0.5 + 0.5
    a = torch.rand(n, k, 1) * 6.28
    return c + r * torch.cat([torch.cos(a), torch.sin(a)], -1) + 0.05 * torch.randn(n, k, 2)


model = PointFlow()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(300):
    out = model(clouds(16), optimizer)
    if it % 75 == 74:
        print('iter %d recon nll %.4f prior %.4f entropy %.4f' % (it, *out))
