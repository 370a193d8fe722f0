"""RIGHT. Residual vector quantizer for audio frames whose codebooks have no gradient at all.
TRUTH: codebooks are buffers moved by an exponential moving average under no_grad, the encoder gets its gradient by the straight-through
output and by the commitment losses of all stages (the subtracted codes are constants); only the choice of the codes is cut off.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMACodebook(nn.Module):
    def __init__(self, size, dim, decay=0.9, eps=1e-5):
        super().__init__()
        self.decay, self.eps = decay, eps
        self.register_buffer("embed", 0.5 * torch.randn(size, dim))
        self.register_buffer("cluster_size", torch.ones(size))
        self.register_buffer("embed_avg", self.embed.clone())

    @torch.no_grad()
    def _update(self, flat, idx):
        onehot = F.one_hot(idx, self.embed.size(0)).type_as(flat)
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        smoothed = (self.cluster_size + self.eps) / (n + self.embed.size(0) * self.eps) * n
        self.embed.copy_(self.embed_avg / smoothed.unsqueeze(1))
        dead = self.cluster_size < 0.05
        if dead.any():
            pick = flat[torch.randint(0, flat.size(0), (int(dead.sum()),))]
            self.embed[dead] = pick
            self.embed_avg[dead] = pick
            self.cluster_size[dead] = 1.0

    def forward(self, x):
        flat = x.detach().reshape(-1, x.size(-1))
        idx = torch.cdist(flat, self.embed).argmin(1)
        quant = F.embedding(idx, self.embed).view_as(x)
        if self.training:
            self._update(flat, idx)
        return quant, idx.view(x.shape[:-1])


class ResidualVQ(nn.Module):
    def __init__(self, stages, size, dim):
        super().__init__()
        self.stages = nn.ModuleList(EMACodebook(size, dim) for _ in range(stages))

    def forward(self, x):
        residual, total = x, torch.zeros_like(x)
        commit, codes = x.new_zeros(()), []
        for stage in self.stages:
            quant, idx = stage(residual)
            commit = commit + F.mse_loss(residual, quant)
            residual = residual - quant
            total = total + quant
            codes.append(idx)
        out = x + (total - x).detach()
        return out, commit / len(self.stages), torch.stack(codes, -1)


class Codec(nn.Module):
    def __init__(self, n_in=24, hidden=48, dim=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Linear(hidden, dim))
        self.rvq = ResidualVQ(stages=3, size=16, dim=dim)
        self.dec = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, n_in))

    def forward(self, frames):
        z, commit, codes = self.rvq(self.enc(frames))
        return self.dec(z), commit, codes


class FrameSource:
    def __init__(self, n_in, rank=4):
        self.basis = torch.randn(rank, n_in) / rank ** 0.5

    def __call__(self, n):
        return torch.randn(n, self.basis.size(0)).tanh() @ self.basis + 0.02 * torch.randn(n, self.basis.size(1))


def main():
    torch.manual_seed(0)
    model = Codec()
    source = FrameSource(24)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    enc_before = model.enc[0].weight.detach().clone()
    for step in range(250):
        x = source(256)
        recon, commit, codes = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            used = [codes[:, k].unique().numel() for k in range(codes.size(-1))]
            print(f"step {step + 1} loss {loss.item():.4f} commit {commit.item():.4f} codes used {used}")
    model.eval()
    with torch.no_grad():
        x = source(1024)
        recon, _, _ = model(x)
        print(f"valid mse {F.mse_loss(recon, x).item():.4f}, variance {x.var().item():.4f}")
    print(f"encoder moved by {(model.enc[0].weight - enc_before).norm().item():.3f}")


if __name__ == "__main__":
    main()
