"""Fits a model of light attenuation in a lake: absorption and mixing depth are learned from profiles of chlorophyll.

TRUTH: math.exp turns the learned log_depth into a Python float, so the depth grid carries no graph of it; no error because absorption still learns, but log_depth.grad is None and the depth stays at exp(1)=2.7 instead of 6; keep it a tensor: linspace(0, 1) * log_depth.exp().
"""
import torch
from torch import nn


class LakeLight(nn.Module):
    def __init__(self, layers=24):
        super().__init__()
        self.layers = layers
        self.log_absorb = nn.Parameter(torch.tensor(-2.0))
        self.log_self = nn.Parameter(torch.tensor(-3.0))
        self.log_depth = nn.Parameter(torch.tensor(1.0))

    def grid(self):
        return torch.linspace(0.0, 1.0, self.layers) * self.log_depth.exp()

    def forward(self, surface, chlorophyll):
        z = self.grid()
        k = self.log_absorb.exp() + self.log_self.exp() * chlorophyll
        light = surface[:, None] * torch.exp(-k[:, None] * z)
        growth = light / (light + 20.0)
        return growth.mean(dim=1)


def measure(n, absorb=0.3, shade=0.05, depth=6.0):
    surface = 50 + 400 * torch.rand(n)
    chl = 10 * torch.rand(n)
    z = torch.linspace(0.0, depth, 24)
    light = surface[:, None] * torch.exp(-(absorb + shade * chl)[:, None] * z)
    growth = (light / (light + 20.0)).mean(1)
    return surface, chl, growth + 0.003 * torch.randn(n)


def main():
    torch.manual_seed(15)
    surface, chl, growth = measure(500)
    model = LakeLight()
    groups = [
        {"params": [model.log_absorb, model.log_self], "lr": 0.02},
        {"params": [model.log_depth], "lr": 0.05},
    ]
    opt = torch.optim.Adam(groups)
    for step in range(300):
        idx = torch.randint(0, 500, (100,))
        loss = (model(surface[idx], chl[idx]) - growth[idx]).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 60 == 0:
            print(f"{step:4d} loss {loss.item():.2e} depth {model.log_depth.exp().item():.2f}")
    print("final", loss.item(), {n: (round(p.exp().item(), 3), p.grad is None) for n, p in model.named_parameters()})


if __name__ == "__main__":
    main()
