"""Vector-quantized autoencoder which turns short audio frames into discrete tokens.

TRUTH: the straight-through replacement is applied to `quantized` before the two VQ losses are computed.
After it, `quantized` depends on z only (its codebook part is detached), so the codebook loss sends its
gradient into the encoder (and pushes the encoder's output away from the codes) while the codebook
parameter gets none at all. Symptom: codebook.grad is None, the codes stay at their random initial values
for the whole run, the vq loss explodes and one single code is used.
Fix: compute the codebook loss and the commitment loss from the raw codebook rows, and apply the
straight-through estimator after them.
Drawn from andylolu2/jax-vqvae-gpt#2.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def synth_frames(n, length=64):
    """Frames of a few 'voices': sums of harmonics with a random base frequency and decay."""
    t = torch.arange(length).float() / length
    f0 = torch.randint(1, 7, (n, 1)).float()
    decay = torch.rand(n, 1) * 3
    amp = torch.rand(n, 3)
    wave = sum(amp[:, k:k + 1] * torch.sin(6.2832 * f0 * (k + 1) * t) for k in range(3))
    return (wave * torch.exp(-decay * t)).unsqueeze(1)


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(16, 32, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(32, dim, 1))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose1d(dim, 32, 8, stride=4, padding=2), nn.ELU(),
            nn.ConvTranspose1d(32, 16, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(16, 1, 3, padding=1))

    def forward(self, z):
        return self.net(z)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.beta = beta
        self.codebook = nn.Parameter(torch.randn(n_codes, dim) * 0.5)

    def forward(self, z):
        inputs = z.permute(0, 2, 1)
        dist = torch.cdist(inputs.detach().reshape(-1, inputs.size(-1)), self.codebook.detach())
        encoding_indices = dist.argmin(-1).view(inputs.shape[:2])
        quantized = self.codebook[encoding_indices]
        quantized = inputs + (quantized - inputs).detach()  # CULPRIT
        codebook_loss = F.mse_loss(quantized, inputs.detach())
        commit_loss = F.mse_loss(inputs, quantized.detach())
        vq_loss = codebook_loss + self.beta * commit_loss
        return quantized.permute(0, 2, 1), vq_loss, encoding_indices


class Codec(nn.Module):
    def __init__(self, n_codes=64, dim=8):
        super().__init__()
        self.encoder, self.decoder = Encoder(dim), Decoder(dim)
        self.quantizer = VectorQuantizer(n_codes, dim)

    def forward(self, x):
        z_q, vq_loss, idx = self.quantizer(self.encoder(x))
        return self.decoder(z_q), vq_loss, idx


def perplexity(idx, n_codes):
    p = torch.bincount(idx.flatten(), minlength=n_codes).float()
    p = p / p.sum()
    return torch.exp(-(p * (p + 1e-10).log()).sum()).item()


def train(steps=250, batch_size=64):
    torch.manual_seed(5)
    model = Codec()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    start = model.quantizer.codebook.detach().clone()
    for step in range(steps):
        x = synth_frames(batch_size)
        recon, vq_loss, idx = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0 or step == steps - 1:
            moved = (model.quantizer.codebook.detach() - start).norm().item()
            print(f"step {step:3d} recon {recon_loss.item():.4f} vq {vq_loss.item():.4f} "
                  f"codes used (perplexity) {perplexity(idx, 64):.1f} codebook shift {moved:.3f}")
    return model


if __name__ == "__main__":
    train()
