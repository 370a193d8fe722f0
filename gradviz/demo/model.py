"""The network of the demo: two convolution blocks and a linear layer."""

from __future__ import annotations

from gradviz.demo.engine import Tensor, nn


class Block(nn.Module):
    """Convolution, batch norm, ReLU, and a pool that halves height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)

    def forward(self, images: Tensor) -> Tensor:
        features = self.conv(images)
        features = self.norm(features)
        features = self.relu(features)
        return self.pool(features)


class DigitNet(nn.Module):
    """Scores for the ten digits from images of shape (N, 1, 8, 8)."""

    def __init__(self) -> None:
        super().__init__()
        self.block1 = Block(1, 16)
        self.block2 = Block(16, 32)
        self.classify = nn.Linear(32 * 2 * 2, 10)

    def forward(self, images: Tensor) -> Tensor:
        edges = self.block1(images)  # (N, 16, 4, 4)
        shapes = self.block2(edges)  # (N, 32, 2, 2)
        return self.classify(shapes.flatten(1))
