"""RIGHT. Vector-quantised autoencoder for time series with a self-written straight-through function and a codebook that is no parameter but is moved by running averages.
TRUTH: argmin is not differentiable and is bridged by the Function (gradient to the encoder output only, None for the codes); the codebook is a buffer, updated in place under no_grad after backward; the commitment term uses the detached codes on purpose, as the averages replace the codebook loss.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(window=16, dim=4, codes=12, beta=0.25, decay=0.9, batch=64, lr=5e-3, steps=60)


class StraightThrough(torch.autograd.Function):
    """Forward: the quantised values. Backward: the gradient as if nothing had been done to `z`."""

    @staticmethod
    def forward(ctx, z, quantised):
        return quantised.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class Quantiser(nn.Module):
    def __init__(self, n_codes, dim, decay):
        super().__init__()
        self.decay = decay
        codes = torch.randn(n_codes, dim)
        self.register_buffer("codes", codes)
        self.register_buffer("counts", torch.ones(n_codes))
        self.register_buffer("sums", codes.clone())

    def forward(self, z):
        with torch.no_grad():
            index = torch.cdist(z, self.codes).argmin(dim=1)
            quantised = self.codes[index]
        commitment = F.mse_loss(z, quantised)
        return StraightThrough.apply(z, quantised), index, commitment

    @torch.no_grad()
    def move_codes(self, z, index):
        one_hot = F.one_hot(index, len(self.codes)).float()
        self.counts.mul_(self.decay).add_(one_hot.sum(dim=0), alpha=1 - self.decay)
        self.sums.mul_(self.decay).add_(one_hot.t() @ z, alpha=1 - self.decay)
        smoothed = (self.counts + 1e-5) / (self.counts.sum() + 1e-5 * len(self.counts)) * self.counts.sum()
        self.codes.copy_(self.sums / smoothed.unsqueeze(1))


class VQAutoencoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(cfg["window"], 32), nn.ReLU(), nn.Linear(32, cfg["dim"]))
        self.quantiser = Quantiser(cfg["codes"], cfg["dim"], cfg["decay"])
        self.decoder = nn.Sequential(nn.Linear(cfg["dim"], 32), nn.ReLU(), nn.Linear(32, cfg["window"]))

    def forward(self, x):
        z = self.encoder(x)
        quantised, index, commitment = self.quantiser(z)
        return self.decoder(quantised), z, index, commitment


def windows(n):
    kind = torch.randint(3, (n, 1))
    t = torch.linspace(0, 1, cfg["window"])
    phase = torch.randint(4, (n, 1)) * math.pi / 2
    sine, ramp = torch.sin(2 * math.pi * t + phase), 2 * t - 1 + 0.0 * phase
    step = torch.sign(torch.sin(2 * math.pi * t + phase + 0.3))
    base = torch.where(kind == 0, sine, torch.where(kind == 1, ramp, step))
    return base + 0.05 * torch.randn(n, cfg["window"])


def check_function():
    z = torch.randn(5, 3, requires_grad=True)
    weight = torch.randn(5, 3)
    (StraightThrough.apply(z, torch.zeros(5, 3)) * weight).sum().backward()
    return torch.equal(z.grad, weight)


def main():
    print("straight-through passes the gradient unchanged:", check_function())
    model = VQAutoencoder(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x = windows(cfg["batch"])
        recon, z, index, commitment = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + cfg["beta"] * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.quantiser.move_codes(z.detach(), index)
        if step % 15 == 0 or step == cfg["steps"] - 1:
            print(f"step {step:2d}  recon {recon_loss.item():.4f}  commitment {commitment.item():.4f}  codes used {index.unique().numel()}")


if __name__ == "__main__":
    main()
