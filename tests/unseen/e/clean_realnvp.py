"""RealNVP density model: alternating masks as buffers, the loss (negative log likelihood) falls below zero, inverse for sampling under no_grad, averaged weights swapped in for the evaluation and back."""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
torch.set_num_threads(1)


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.st = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))
        nn.init.zeros_(self.st[-1].weight)
        nn.init.zeros_(self.st[-1].bias)

    def params(self, kept):
        s, t = self.st(kept).chunk(2, dim=1)
        return torch.tanh(s) * 2 * (1 - self.mask), t * (1 - self.mask)

    def forward(self, x):
        kept = x * self.mask
        s, t = self.params(kept)
        return kept + (1 - self.mask) * (x * s.exp() + t), s.sum(dim=1)

    def inverse(self, z):
        kept = z * self.mask
        s, t = self.params(kept)
        return kept + (1 - self.mask) * (z - t) * (-s).exp()


class RealNVP(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        masks = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])]
        self.layers = nn.ModuleList([Coupling(masks[i % 2]) for i in range(n)])

    def log_prob(self, x):
        log_det = 0
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return -0.5 * (x ** 2).sum(1) - math.log(2 * math.pi) + log_det

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def main():
    angle = math.pi * torch.rand(2000)
    data = 0.4 * torch.stack([angle.cos(), angle.sin()], dim=1) + 0.03 * torch.randn(2000, 2)
    loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)
    model = RealNVP()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    average = {k: v.clone() for k, v in model.state_dict().items()}
    for epoch in range(30):
        for (x,) in loader:
            loss = -model.log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for k, v in model.state_dict().items():
                average[k].mul_(0.95).add_(v, alpha=0.05)
        if epoch % 7 == 1:
            backup = {k: v.clone() for k, v in model.state_dict().items()}
            model.load_state_dict(average)
            with torch.no_grad():
                nll = -model.log_prob(data).mean().item()
            print("epoch %d nll %.4f mean radius of the samples %.3f" % (epoch, nll, model.sample(500).norm(dim=1).mean().item()))
            model.load_state_dict(backup)


if __name__ == "__main__":
    main()
