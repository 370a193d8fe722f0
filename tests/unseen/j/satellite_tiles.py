# kind: shape_mismatch
"""Land-cover classification of small satellite tiles; sizes come from a config."""
from dataclasses import dataclass, field

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TileConfig:
    bands: int = 4
    size: int = 18
    widths: list = field(default_factory=lambda: [8, 16])
    stride_first: bool = True
    classes: int = 5


class ConvStage(nn.Module):
    def __init__(self, inp, out, stride):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.GroupNorm(4, out)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class TileNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        stages, inp = [], cfg.bands
        for i, width in enumerate(cfg.widths):
            stages.append(ConvStage(inp, width, stride=2 if i > 0 or cfg.stride_first else 1))
            inp = width
        self.stages = nn.Sequential(*stages)
        side = self._final_side(cfg)
        self.head = nn.Sequential(nn.Linear(inp * side * side, 32), nn.ReLU(), nn.Linear(32, cfg.classes))

    @staticmethod
    def _final_side(cfg):
        halvings = len(cfg.widths) - (0 if cfg.stride_first else 1)
        side = cfg.size
        for _ in range(halvings):
            side = side // 2  # CULPRIT
        return side

    def forward(self, tiles):
        return self.head(self.stages(tiles).flatten(1))


def make_tiles(cfg, n):
    label = torch.randint(cfg.classes, (n,))
    spectra = torch.randn(cfg.classes, cfg.bands)
    tiles = spectra[label][:, :, None, None] + 1.5 * torch.randn(n, cfg.bands, cfg.size, cfg.size)
    return TensorDataset(tiles, label)


def fit(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        correct = seen = 0
        for tiles, label in loader:
            logits = model(tiles)
            loss = F.cross_entropy(logits, label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            correct += (logits.argmax(1) == label).sum().item()
            seen += len(label)
        print(f"epoch {epoch}: loss {loss.item():.3f} acc {correct / seen:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = TileConfig()
    fit(TileNet(cfg), DataLoader(make_tiles(cfg, 640), batch_size=64, shuffle=True), epochs=4)
