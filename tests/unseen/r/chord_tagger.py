"""Tag chords in chroma frames with a learnable per-class temperature on the logits.

TRUTH: the config value is the int 2, so torch.full makes an int64 tensor that nn.Parameter wants to require grad; RuntimeError "Only Tensors of floating point and complex dtype can require gradients"; write 2.0.
"""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class ModelConfig:
    n_classes: int = 8
    n_chroma: int = 12
    width: int = 32
    init_temperature: float = 2  # CULPRIT


@dataclass
class RunConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    steps: int = 100
    batch: int = 96
    lr: float = 1e-2
    seed: int = 9


class ChordTagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.n_chroma, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.n_classes)
        )
        self.temperature = nn.Parameter(torch.full((cfg.n_classes,), cfg.init_temperature))

    def forward(self, chroma):
        return self.net(chroma) / self.temperature.clamp_min(0.1)


class ChromaSource:
    """Noisy chroma vectors around one template for each chord."""

    def __init__(self, cfg, gen):
        self.gen = gen
        self.templates = (torch.rand(cfg.n_classes, cfg.n_chroma, generator=gen) > 0.7).float()

    def batch(self, n):
        label = torch.randint(0, len(self.templates), (n,), generator=self.gen)
        noise = 0.3 * torch.randn(n, self.templates.shape[1], generator=self.gen)
        return self.templates[label] + noise, label


def run(cfg):
    torch.manual_seed(cfg.seed)
    source = ChromaSource(cfg.model, torch.Generator().manual_seed(cfg.seed))
    model = ChordTagger(cfg.model)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        chroma, label = source.batch(cfg.batch)
        logits = model(chroma)
        loss = F.cross_entropy(logits, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0 or step == cfg.steps - 1:
            acc = (logits.argmax(1) == label).float().mean()
            print(f"{step:3d} loss {loss.item():.3f} acc {acc:.2f}")


if __name__ == "__main__":
    run(RunConfig())
