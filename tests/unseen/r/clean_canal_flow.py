"""Calibrate roughness and depth correction of canals with Manning's formula.

TRUTH: the corrected depth is negative for some shallow sections and a fractional power of a negative number is NaN, so the loss is NaN from the first step on; keep the depth positive (softplus or clamp) before the power.
"""
import torch
import torch.nn.functional as F
from torch import nn


class ManningFlow(nn.Module):
    """Discharge per metre width, q = depth ** (5 / 3) * sqrt(slope) / n."""

    def __init__(self, materials):
        super().__init__()
        self.log_n = nn.Parameter(torch.full((materials,), -3.0))
        self.correction = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, level, slope, material):
        features = torch.stack([level, slope * 100], 1)
        depth = F.softplus(level + self.correction(features).squeeze(1), beta=10)
        return depth.pow(5 / 3) * slope.sqrt() / self.log_n.exp()[material]


def survey(n, gen):
    level = torch.rand(n, generator=gen) * 1.5 + 0.02
    slope = torch.rand(n, generator=gen) * 0.004 + 0.0005
    material = torch.randint(0, 3, (n,), generator=gen)
    rough = torch.tensor([0.015, 0.03, 0.06])[material]
    silt = 0.05 * torch.rand(n, generator=gen)
    depth = (level - 0.1 * level ** 2 - silt).clamp(min=0.01)
    return level, slope, material, depth.pow(5 / 3) * slope.sqrt() / rough


def calibrate(steps=250):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    level, slope, material, flow = survey(500, gen)
    model = ManningFlow(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        predicted = model(level, slope, material)
        loss = F.mse_loss(predicted, flow)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}")
    return model


if __name__ == "__main__":
    fitted = calibrate()
    print("roughness", [round(v, 4) for v in fitted.log_n.detach().exp().tolist()])
