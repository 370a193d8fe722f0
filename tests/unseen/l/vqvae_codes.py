"""WRONG. Reconstruction stays bad, only one code is used and the vq loss grows without bound, while the codebook vectors are bit for bit the same after training; there is no error.
TRUTH: the straight-through estimate is put into z_q before the codebook and commitment losses are computed, so the codebook loss sees a tensor whose gradient goes to the encoder only (and drives it away from the code). Compute the two losses with the looked-up vectors first and apply `z_q = z + (z_q - z).detach()` after them.
THREAD: https://github.com/andylolu2/jax-vqvae-gpt/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

config = dict(n_codes=32, d_code=8, beta=0.25, lr=5e-3, batch=32, steps=150, hidden=32)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, d_code, beta):
        super().__init__()
        self.beta = beta
        self.codebook = nn.Embedding(n_codes, d_code)
        nn.init.uniform_(self.codebook.weight, -1 / n_codes, 1 / n_codes)

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        dist = (flat.pow(2).sum(1, keepdim=True)
                - 2 * flat @ self.codebook.weight.t()
                + self.codebook.weight.pow(2).sum(1))
        idx = dist.argmin(1)
        z_q = self.codebook(idx).view_as(z)
        z_q = z + (z_q - z).detach()  # CULPRIT

        codebook_loss = F.mse_loss(z_q, z.detach())
        commit_loss = F.mse_loss(z, z_q.detach())
        vq_loss = codebook_loss + self.beta * commit_loss
        return z_q, vq_loss, idx


class VQVAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        h, d = cfg["hidden"], cfg["d_code"]
        self.encoder = nn.Sequential(nn.Conv1d(1, h, 4, 2, 1), nn.ReLU(), nn.Conv1d(h, h, 4, 2, 1), nn.ReLU(),
                                     nn.Conv1d(h, d, 1))
        self.vq = VectorQuantizer(cfg["n_codes"], d, cfg["beta"])
        self.decoder = nn.Sequential(nn.Conv1d(d, h, 1), nn.ReLU(), nn.ConvTranspose1d(h, h, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose1d(h, 1, 4, 2, 1))

    def forward(self, x):
        z = self.encoder(x).transpose(1, 2)
        z_q, vq_loss, idx = self.vq(z)
        return self.decoder(z_q.transpose(1, 2)), vq_loss, idx


def make_signals(n, length=32, generator=None):
    t = torch.linspace(0, 1, length)
    freq = torch.randint(1, 4, (n, 1), generator=generator).float()
    phase = torch.randint(0, 4, (n, 1), generator=generator) * 1.5708
    return torch.sin(6.2832 * freq * t + phase).unsqueeze(1)


def perplexity(idx, n_codes):
    p = torch.bincount(idx, minlength=n_codes).float()
    p = p / p.sum()
    return torch.exp(-(p * (p + 1e-10).log()).sum()).item()


def train(cfg):
    gen = torch.Generator().manual_seed(3)
    model = VQVAE(cfg)
    before = model.vq.codebook.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, 0.5)
    for step in range(cfg["steps"]):
        x = make_signals(cfg["batch"], generator=gen)
        recon, vq_loss, idx = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 30 == 0 or step == cfg["steps"] - 1:
            print("step %3d recon %.4f vq %.4f perplexity %.1f" % (
                step, recon_loss.item(), vq_loss.item(), perplexity(idx, cfg["n_codes"])))
    moved = (model.vq.codebook.weight.detach() - before).abs().max().item()
    print("largest change of a code entry: %.5f" % moved)


if __name__ == "__main__":
    train(config)
