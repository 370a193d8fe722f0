"""Predict paper gloss from surface profiles with pre-normalized residual blocks.

TRUTH: Center subtracts the mean from its input in place, and the skip connection reads the same tensor afterwards, so every block throws away the mean of the profile and the level of the gloss cannot be learned (loss stays near the variance of the targets); subtract out of place.
"""
import torch
import torch.nn.functional as F
from torch import nn


class Center(nn.Module):
    """Removes the mean over the profile."""

    def forward(self, x):
        x -= x.mean(dim=-1, keepdim=True)  # CULPRIT
        return x


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def block(width):
    return Residual(
        nn.Sequential(
            Center(),
            nn.Conv1d(width, width, 3, padding=1, padding_mode="circular"),
            nn.GELU(),
            nn.Conv1d(width, width, 1),
        )
    )


class GlossNet(nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.lift = nn.Conv1d(1, width, 1)
        self.blocks = nn.Sequential(*(block(width) for _ in range(depth)))
        self.out = nn.Linear(width, 1)

    def forward(self, profile):
        hidden = self.blocks(self.lift(profile[:, None]))
        return self.out(hidden.mean(dim=-1)).squeeze(-1)


def sheets(n, gen, points=24):
    coating = torch.rand(n, 1, generator=gen) * 2 - 1
    profile = coating + 0.3 * torch.randn(n, points, generator=gen)
    rough = profile.std(dim=1)
    return profile, 2 * coating[:, 0] - rough


def main(steps=120):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = GlossNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        profile, gloss = sheets(64, gen)
        loss = F.mse_loss(model(profile), gloss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0 or step == steps - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}")
    with torch.no_grad():
        hidden = model.lift(sheets(8, gen)[0][:, None])
        kept = hidden.clone()
        model.blocks[0](hidden)
        print(f"change of the block's input {(hidden - kept).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
