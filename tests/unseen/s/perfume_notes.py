"""Splits perfume chromatograms into non-negative notes and their shares by projected gradient descent.

TRUTH: relu(factor) gives a new tensor that nothing takes, so the factors are never projected and keep negative entries; write back to the factor (relu_ or inplace=True).
"""
import torch
from torch import nn
import torch.nn.functional as F


class Notes(nn.Module):
    def __init__(self, samples, notes, bins):
        super().__init__()
        self.shares = nn.Parameter(torch.rand(samples, notes))
        self.spectra = nn.Parameter(torch.rand(notes, bins) * 0.5)

    def forward(self):
        return self.shares @ self.spectra


class Projection:
    """Runs after each optimizer step."""

    def __init__(self, factors):
        self.factors = list(factors)

    @torch.no_grad()
    def __call__(self, optimizer, args, kwargs):
        for factor in self.factors:
            F.relu(factor)  # CULPRIT


class Chromatograph:
    def __init__(self, bins, width):
        self.axis = torch.arange(bins, dtype=torch.float32)
        self.width = width

    def peak(self, centre):
        return torch.exp(-0.5 * ((self.axis - centre) / self.width) ** 2)

    def blend(self, samples, centres, generator):
        pure = torch.stack([self.peak(a) + 0.5 * self.peak(b) for a, b in centres])
        amount = torch.rand(samples, len(pure), generator=generator)
        amount = amount * (torch.rand(amount.shape, generator=generator) < 0.6)
        noise = 0.02 * torch.randn(samples, len(self.axis), generator=generator)
        return amount @ pure + noise


def lowest(model):
    return min(factor.detach().min().item() for factor in model.parameters())


def main():
    torch.manual_seed(120)
    g = torch.Generator().manual_seed(121)
    device = Chromatograph(bins=60, width=2.0)
    measured = device.blend(80, [(8, 30), (18, 44), (28, 52), (38, 12)], g)
    model = Notes(80, notes=4, bins=60)
    opt = torch.optim.Adam(model.parameters(), lr=3e-2)
    handle = opt.register_step_post_hook(Projection(model.parameters()))
    for step in range(60):
        loss = (model() - measured).square().sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == 59:
            print(f"step {step:2d}  residual {loss.item():.4f}  lowest entry {lowest(model):+.4f}")
    handle.remove()


if __name__ == "__main__":
    main()
