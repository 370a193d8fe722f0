# kind: nothing_requires_grad
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)


@dataclass
class Phase:
    name: str
    classes: int
    steps: int
    lr: float
    trainable: tuple = field(default=())


def strokes(n, classes):
    """Lines through the image centre; the angle gives the class."""
    y = torch.randint(0, classes, (n,))
    angle = y * torch.pi / classes
    grid = torch.linspace(-1, 1, 12)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    dist = (xx * torch.sin(angle)[:, None, None] - yy * torch.cos(angle)[:, None, None]).abs()
    return (dist < 0.2).float()[:, None] + 0.7 * torch.randn(n, 1, 12, 12), y


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.head = nn.Linear(24 * 9, 4)

    def forward(self, x):
        return self.head(self.body(x))


class Calibrated(nn.Module):
    """Divides the logits by a fixed temperature."""

    def __init__(self, net, temperature=1.0):
        super().__init__()
        self.net, self.temperature = net, temperature

    def forward(self, x):
        return self.net(x) / self.temperature


def select(model, prefixes):
    for name, p in model.named_parameters():
        p.requires_grad_(not prefixes or name.startswith(prefixes))
    return list(model.parameters())


def run_phase(model, phase):
    params = select(model, phase.trainable)
    opt = torch.optim.Adam(params, lr=phase.lr)
    for step in range(1, phase.steps + 1):
        x, y = strokes(48, phase.classes)
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            acc = (logits.argmax(1) == y).float().mean().item()
            print(f"{phase.name} step {step} loss {loss.item():.3f} acc {acc:.2f}")


model = Calibrated(Backbone())
run_phase(model, Phase("pretrain", classes=4, steps=60, lr=3e-3))
model.net.head = nn.Linear(24 * 9, 3)
run_phase(model, Phase("transfer", classes=3, steps=60, lr=5e-3, trainable=("head.",)))  # CULPRIT
