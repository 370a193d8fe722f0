"""Discrete speech-unit autoencoder: frames are quantized with a codebook kept by moving averages, dead codes are restarted.

TRUTH: correct: the straight-through estimator z + (q - z).detach() passes the gradient of the decoder on to the encoder; the codebook
is a buffer updated by k-means averages under no_grad, so it is rightly in no optimizer and has no grad; argmin has no
gradient and needs none; the detach in the commitment loss is the method's. Reconstruction falls, many codes are in use.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FrameSource:
    """Frames drawn around phone-like centers lying on a curved surface in the spectral space."""

    def __init__(self, n_units=16, n_mels=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.latent = torch.randn(n_units, 4, generator=g)
        self.w1 = torch.randn(4, 32, generator=g)
        self.w2 = torch.randn(32, n_mels, generator=g) / 32 ** 0.5

    def sample(self, n, g):
        unit = torch.randint(0, len(self.latent), (n,), generator=g)
        z = self.latent[unit] + 0.15 * torch.randn(n, 4, generator=g)
        return torch.tanh(z @ self.w1) @ self.w2, unit


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes, dim, decay=0.95, eps=1e-5):
        super().__init__()
        self.decay, self.eps = decay, eps
        embed = torch.randn(n_codes, dim) * 0.5
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_avg", embed.clone())

    @torch.no_grad()
    def _update(self, z, code):
        onehot = F.one_hot(code, len(self.embed)).to(z.dtype)
        self.cluster_size.lerp_(onehot.sum(0), 1 - self.decay)
        self.embed_avg.lerp_(onehot.T @ z, 1 - self.decay)
        n = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (n + len(self.embed) * self.eps) * n
        self.embed.copy_(self.embed_avg / size.unsqueeze(1))
        dead = self.cluster_size < 0.05
        if dead.any():
            pick = z[torch.randint(0, len(z), (int(dead.sum()),))]
            self.embed[dead] = pick
            self.embed_avg[dead] = pick
            self.cluster_size[dead] = 1.0

    def forward(self, z):
        code = torch.cdist(z.detach(), self.embed).argmin(1)
        q = self.embed[code]
        if self.training:
            self._update(z.detach(), code)
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), code, commit


class UnitAutoencoder(nn.Module):
    def __init__(self, n_mels=20, dim=6, n_codes=32, hid=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_mels, hid), nn.ReLU(), nn.Linear(hid, dim))
        self.quantizer = EMAQuantizer(n_codes, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, hid), nn.ReLU(), nn.Linear(hid, n_mels))

    def forward(self, x):
        q, code, commit = self.quantizer(self.encoder(x))
        return self.decoder(q), code, commit


def purity(code, unit, n_codes):
    table = torch.zeros(n_codes, int(unit.max()) + 1)
    table.index_put_((code, unit), torch.ones(len(code)), accumulate=True)
    return (table.max(1).values.sum() / len(code)).item()


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    source = FrameSource()
    model = UnitAutoencoder()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    test_x, test_u = source.sample(800, torch.Generator().manual_seed(9))
    for step in range(1, 501):
        model.train()
        x, _ = source.sample(128, g)
        rec, _, commit = model(x)
        loss = F.mse_loss(rec, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 125 == 0:
            model.eval()
            with torch.no_grad():
                rec, code, _ = model(test_x)
            print(f"step {step} rec {F.mse_loss(rec, test_x).item():.4f} (variance {test_x.var().item():.4f}) "
                  f"codes {code.unique().numel()} purity {purity(code, test_u, 32):.3f}")


if __name__ == "__main__":
    main()
