"""CORRECT. VAE with triangular Sylvester flows: the log determinant is log|1 + r1_jj r2_jj h'(.)| (asked whether it should be log(|x| + 1); the code is right), the diagonal is masked out of the full amortised matrices and put back through tanh.
THREAD: https://github.com/riannevdberg/sylvester-flows/issues/8
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TriangularSylvester(nn.Module):
    def __init__(self, z_size):
        super().__init__()
        self.z_size = z_size

    def forward(self, zk, r1, r2, b, permute_z=None, sum_ldj=True):
        zk = zk.unsqueeze(1)
        diag_r1 = torch.diagonal(r1, dim1=1, dim2=2)
        diag_r2 = torch.diagonal(r2, dim1=1, dim2=2)
        z_per = zk[:, :, permute_z] if permute_z is not None else zk
        r2qzb = torch.bmm(z_per, r2.transpose(2, 1)) + b
        z = torch.bmm(torch.tanh(r2qzb), r1.transpose(2, 1))
        if permute_z is not None:
            z = z[:, :, permute_z]
        z = z + zk
        z = z.squeeze(1)
        diag_j = diag_r1 * diag_r2
        diag_j = (1 - torch.tanh(r2qzb).squeeze(1) ** 2) * diag_j
        diag_j = diag_j + 1.
        log_diag_j = diag_j.abs().log()
        return z, log_diag_j.sum(-1) if sum_ldj else log_diag_j


class TriangularSylvesterVAE(nn.Module):
    def __init__(self, x_size=8, z_size=4, num_flows=3, h=32):
        super().__init__()
        self.z_size, self.num_flows = z_size, num_flows
        self.register_buffer('triu_mask', torch.triu(torch.ones(z_size, z_size), 1))
        self.register_buffer('flip_idx', torch.arange(z_size - 1, -1, -1))
        self.enc = nn.Sequential(nn.Linear(x_size, h), nn.ReLU())
        self.mean, self.logvar = nn.Linear(h, z_size), nn.Linear(h, z_size)
        self.amor_d = nn.Linear(h, num_flows * z_size ** 2)
        self.amor_diag = nn.Linear(h, num_flows * z_size * 2)
        self.amor_b = nn.Linear(h, num_flows * z_size)
        self.dec = nn.Sequential(nn.Linear(z_size, h), nn.ReLU(), nn.Linear(h, x_size))
        self.flow = TriangularSylvester(z_size)

    def forward(self, x):
        h, B, Z, K = self.enc(x), x.size(0), self.z_size, self.num_flows
        mean, logvar = self.mean(h), self.logvar(h)
        full_d = self.amor_d(h).view(B, K, Z, Z)
        diag = torch.tanh(self.amor_diag(h)).view(B, K, 2, Z)
        r1 = full_d * self.triu_mask + torch.diag_embed(diag[:, :, 0])
        r2 = full_d.transpose(3, 2) * self.triu_mask + torch.diag_embed(diag[:, :, 1])
        b = self.amor_b(h).view(B, K, 1, Z)
        z0 = z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        log_det_j = 0.
        for k in range(K):
            permute_z = self.flip_idx if k % 2 == 1 else None
            z, ldj = self.flow(z, r1[:, k], r2[:, k], b[:, k], permute_z)
            log_det_j = log_det_j + ldj
        return self.dec(z), mean, logvar, log_det_j, z0, z


def bound(recon, x, mean, logvar, ldj, z0, zk):
    rec = (recon - x).pow(2).sum(1) / (2 * 0.05)
    log_q = (-0.5 * (logvar + (z0 - mean).pow(2) / logvar.exp())).sum(1)
    log_p = (-0.5 * zk.pow(2)).sum(1)
    return rec.mean(), (log_q - ldj - log_p).mean()


def data(n):
    u = torch.rand(n, 2) * 2 - 1
    return torch.cat([u, u ** 2, torch.sin(3 * u), u[:, :1] * u[:, 1:], u.abs().sum(1, keepdim=True)], 1)


model = TriangularSylvesterVAE()
optimizer = torch.optim.Adamax(model.parameters(), lr=4e-3)
for step in range(500):
    x = data(100)
    out = model(x)
    rec, kl = bound(out[0], x, *out[1:])
    loss = rec + min(1.0, step / 200) * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 125 == 124:
        print('step %d rec %.3f kl %.3f' % (step + 1, rec.item(), kl.item()))
