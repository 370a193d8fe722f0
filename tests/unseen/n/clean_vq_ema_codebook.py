"""RIGHT. Vector quantization whose codebook is a buffer without any gradient, written in place during the forward pass in training mode.
TRUTH: the codebook is learned with exponential moving averages of the assigned encoder outputs (under no_grad, so the in-place writes concern no graph: F.embedding does not save its weight); the encoder gets its gradient through the straight-through term z + (q - z).detach() and the commitment loss. argmin and the one-hot counts need no gradient. Laplace smoothing keeps the counts from being 0.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(data_dim=8, dim=3, n_codes=6, decay=0.9, beta=0.25, lr=5e-3, steps=150, batch=128)


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes, dim, decay, eps=1e-4):
        super().__init__()
        self.decay, self.eps = decay, eps
        codes = torch.randn(n_codes, dim)
        self.register_buffer("codes", codes)
        self.register_buffer("counts", torch.ones(n_codes))
        self.register_buffer("sums", codes.clone())

    @torch.no_grad()
    def _update(self, z, onehot):
        self.counts.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.sums.mul_(self.decay).add_(onehot.t() @ z, alpha=1 - self.decay)
        n = self.counts.sum()
        smooth = (self.counts + self.eps) / (n + len(self.counts) * self.eps) * n
        self.codes.copy_(self.sums / smooth.unsqueeze(1))

    def forward(self, z):
        with torch.no_grad():
            idx = torch.cdist(z, self.codes).argmin(dim=1)
        q = F.embedding(idx, self.codes)
        if self.training:
            self._update(z, F.one_hot(idx, len(self.codes)).to(z.dtype))
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit, idx


class VQAutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(cfg["data_dim"], 32), nn.GELU(), nn.Linear(32, cfg["dim"]))
        self.vq = EMAQuantizer(cfg["n_codes"], cfg["dim"], cfg["decay"])
        self.dec = nn.Sequential(nn.Linear(cfg["dim"], 32), nn.GELU(), nn.Linear(32, cfg["data_dim"]))

    def forward(self, x):
        z, commit, idx = self.vq(self.enc(x))
        return self.dec(z), commit, idx


CENTERS = 2 * torch.randn(cfg["n_codes"], cfg["data_dim"])


def sample(n):
    k = torch.randint(0, cfg["n_codes"], (n,))
    return CENTERS[k] + 0.1 * torch.randn(n, cfg["data_dim"])


def main():
    model = VQAutoEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        model.train()
        x = sample(cfg["batch"])
        rec, commit, idx = model(x)
        loss = F.mse_loss(rec, x) + cfg["beta"] * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} codes in use {idx.unique().numel()}")
    model.eval()
    with torch.no_grad():
        x = sample(512)
        rec, _, idx = model(x)
        print(f"reconstruction {F.mse_loss(rec, x).item():.4f}, variance of the data "
              f"{x.var(0).mean().item():.4f}, codes in use {idx.unique().numel()}")


if __name__ == "__main__":
    main()
