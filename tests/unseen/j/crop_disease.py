# kind: double_softmax
"""Leaf disease classifier with a configurable head."""
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "softmax": lambda: nn.Softmax(dim=1),
    "none": nn.Identity,
}


@dataclass
class HeadConfig:
    hidden: int = 32
    activation: str = "silu"
    final: str = "softmax"  # CULPRIT


@dataclass
class Config:
    classes: int = 6
    channels: int = 12
    lr: float = 0.05
    epochs: int = 6
    head: HeadConfig = field(default_factory=HeadConfig)


class LeafNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        c, head = cfg.channels, cfg.head
        self.backbone = nn.Sequential(
            nn.Conv2d(3, c, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.head = nn.Sequential(
            nn.Linear(8 * c, head.hidden),
            ACTIVATIONS[head.activation](),
            nn.Linear(head.hidden, cfg.classes),
            ACTIVATIONS[head.final](),
        )

    def forward(self, x):
        return self.head(self.backbone(x))


def leaves(n, classes, seed):
    """Each disease has a colour and a frequency of its spots."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    colour = torch.eye(3)[torch.arange(classes) % 3]
    freq = 1.0 + torch.arange(classes) // 3 * 2.0
    grid = torch.linspace(0, 6.28, 12)
    wave = torch.sin(freq[y][:, None] * grid)
    pattern = wave[:, None, :, None] * wave[:, None, None, :]
    x = colour[y][:, :, None, None] * (0.5 + pattern)
    return TensorDataset(x + 0.3 * torch.randn(x.shape, generator=g), y)


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = LeafNet(cfg)
        self.criterion = nn.CrossEntropyLoss()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9)

    def train(self, loader):
        self.model.train()
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = Config()
    train = DataLoader(leaves(480, cfg.classes, 0), batch_size=32, shuffle=True)
    val = DataLoader(leaves(120, cfg.classes, 1), batch_size=60)
    runner = Runner(cfg)
    for epoch in range(cfg.epochs):
        print(f"epoch {epoch} loss {runner.train(train):.3f} val accuracy {runner.accuracy(val):.3f}")
