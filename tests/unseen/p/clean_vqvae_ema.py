"""VQ-VAE on small striped images with an EMA codebook, straight-through estimator and restart of dead codes.

TRUTH: correct: The codebook is a buffer without gradient on purpose: it is moved by exponential averages of the
assigned encoder outputs under no_grad, so it belongs to no optimizer and there is no codebook loss, only the
commitment term (with the code detached) that pulls the encoder. z + (q - z).detach() is the straight-through
estimator: the decoder's gradient reaches the encoder unchanged. Codes that nobody uses are overwritten with random
encoder outputs, in place and without history. Reconstruction falls and most codes stay in use.
"""
import torch
from torch import nn
import torch.nn.functional as F


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=32, dim=8, decay=0.95, eps=1e-5):
        super().__init__()
        self.n_codes, self.decay, self.eps = n_codes, decay, eps
        code = torch.randn(n_codes, dim)
        self.register_buffer("codebook", code)
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_sum", code.clone())

    @torch.no_grad()
    def update(self, flat, idx):
        onehot = F.one_hot(idx, self.n_codes).to(flat.dtype)
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_sum.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        total = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (total + self.n_codes * self.eps) * total
        self.codebook.copy_(self.embed_sum / size.unsqueeze(1))
        dead = self.cluster_size < 0.3
        if dead.any():
            pick = flat[torch.randint(0, len(flat), (int(dead.sum()),))]
            self.codebook[dead] = pick
            self.embed_sum[dead] = pick
            self.cluster_size[dead] = 1.0

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        idx = torch.cdist(flat, self.codebook).argmin(1)
        q = self.codebook[idx].view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        commit = F.mse_loss(z, q.detach())
        if self.training:
            self.update(flat.detach(), idx)
        return z + (q - z).detach(), commit, idx


class VQVAE(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 24, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(24, 24, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(24, dim, 1),
        )
        self.vq = EMAQuantizer(dim=dim)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(dim, 24, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(24, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        q, commit, idx = self.vq(self.enc(x))
        return self.dec(q), commit, idx


def stripes(n, gen, size=16):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    ang = torch.rand(n, 1, 1, generator=gen) * 3.1416
    freq = 3 + 4 * torch.rand(n, 1, 1, generator=gen)
    phase = 6.2832 * torch.rand(n, 1, 1, generator=gen)
    return torch.sin(freq * (xx * ang.cos() + yy * ang.sin()) + phase).unsqueeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    data = stripes(1024, gen)
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        model.train()
        perm = torch.randperm(len(data), generator=gen)
        rec_sum = com_sum = 0.0
        for i in range(0, len(data), 64):
            x = data[perm[i:i + 64]]
            out, commit, _ = model(x)
            rec = F.mse_loss(out, x)
            loss = rec + 0.25 * commit
            opt.zero_grad()
            loss.backward()
            opt.step()
            rec_sum += rec.item()
            com_sum += commit.item()
        model.eval()
        with torch.no_grad():
            _, _, idx = model(data[:256])
        used = len(idx.unique())
        n = len(data) // 64
        print(f"epoch {epoch}  recon {rec_sum / n:.4f}  commit {com_sum / n:.4f}  codes used {used}")
