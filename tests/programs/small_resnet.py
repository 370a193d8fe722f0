"""Train a small ResNet to tell stripes of three directions apart.

    python small_resnet.py [steps]

Prints the loss of every step; then saves, loads and tests what was learned.
"""

import io
import sys
from itertools import islice

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SIDE = 16


def stripes(number):
    """Return pictures, 3 x 16 x 16, of stripes under noise, and their directions."""
    labels = torch.randint(0, 3, (number,))
    row, column = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    waves = torch.stack([torch.sin(x * 0.9) for x in (row, column, row + column)])
    pictures = waves[labels].unsqueeze(1).repeat(1, 3, 1, 1)
    return pictures + 0.5 * torch.randn(number, 3, SIDE, SIDE), labels


class Block(nn.Module):
    """Two convolutions beside a shortcut, which is projected where shapes differ."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x):
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


class SmallResNet(nn.Module):
    """A stem, three residual blocks, and the mean of what is left of the picture."""

    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
        )
        self.layers = nn.Sequential(Block(8, 8), Block(8, 16, 2), Block(16, 32, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(32, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


def accuracy(model, data):
    model.eval()
    right = 0
    with torch.no_grad():
        for pictures, labels in DataLoader(data, batch_size=64):
            right += (model(pictures).argmax(1) == labels).sum().item()
    return right / len(data)


def main(steps=50):
    torch.manual_seed(0)
    data = TensorDataset(*stripes(400))
    training, held_out = random_split(data, [320, 80])
    loader = DataLoader(training, batch_size=32, shuffle=True)
    model = SmallResNet()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.02, total_steps=steps + 1
    )
    endless = (batch for _ in iter(int, 1) for batch in loader)
    for step, (pictures, labels) in enumerate(islice(endless, steps)):
        loss = criterion(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        print(f"step {step} loss {loss.item():.6f}")
    kept = io.BytesIO()
    torch.save({"model": model.state_dict(), "step": steps}, kept)
    kept.seek(0)
    again = SmallResNet()
    again.load_state_dict(torch.load(kept)["model"])
    print(f"accuracy {accuracy(again, held_out):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
