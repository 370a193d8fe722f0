"""RIGHT. VQ autoencoder whose codebook is a buffer updated in place by moving averages, not by the optimizer; the argmin is not differentiable and the decoder's gradient jumps over it.
TRUTH: the commitment loss compares the encoder output with the (gradient-free) codes, the straight-through step comes after it, distances use the detached encoder output, and the in-place writes into the codebook happen under no_grad on tensors that no graph has saved.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4, decay=0.9, eps=1e-5, restart_below=0.3):
        super().__init__()
        self.decay, self.eps, self.restart_below = decay, eps, restart_below
        embed = torch.randn(n_codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_avg", embed.clone())

    @torch.no_grad()
    def _update(self, flat, onehot):
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        total = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (total + len(self.embed) * self.eps) * total
        self.embed.copy_(self.embed_avg / size[:, None])
        dead = self.cluster_size < self.restart_below
        if dead.any():
            pick = flat[torch.randint(0, len(flat), (int(dead.sum()),))]
            self.embed[dead] = pick
            self.embed_avg[dead] = pick
            self.cluster_size[dead] = 1.0

    def forward(self, z):
        flat = z.detach().reshape(-1, z.shape[-1])
        idx = torch.cdist(flat, self.embed).argmin(1)
        z_q = self.embed[idx].view_as(z)
        commit = F.mse_loss(z, z_q)
        out = z + (z_q - z).detach()
        if self.training:
            self._update(flat, F.one_hot(idx, len(self.embed)).to(flat.dtype))
        return out, commit, idx


class Model(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, dim, 4, 2, 1))
        self.vq = EMAQuantizer(dim=dim)
        self.dec = nn.Sequential(nn.ConvTranspose2d(dim, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 3, 1)
        z_q, commit, idx = self.vq(z)
        return self.dec(z_q.permute(0, 3, 1, 2)), commit, idx


def pictures(n, size=16):
    g = torch.linspace(-1, 1, size)
    cx, cy = torch.rand(2, n, 1, 1) * 1.2 - 0.6
    d = (g[None, None, :] - cx) ** 2 + (g[None, :, None] - cy) ** 2
    return (d < 0.2).float().unsqueeze(1)


def main():
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(80):
        x = pictures(32)
        recon, commit, idx = model(x)
        rec = F.mse_loss(recon, x)
        loss = rec + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == 79:
            print("step %2d rec %.4f commit %.4f codes used %d" % (step, rec.item(), commit.item(), len(idx.unique())))
    model.eval()
    with torch.no_grad():
        x = pictures(64)
        print("eval rec %.4f" % F.mse_loss(model(x)[0], x))


if __name__ == "__main__":
    main()
