# kind: hook_keeps_outputs
"""Small convolutional digit classifier with a monitor for dead units."""
import resource

import torch
from torch import nn


def glyphs(n):
    """Noisy 16x16 images of bars at one of six positions."""
    label = torch.randint(6, (n,))
    image = 1.2 * torch.randn(n, 1, 16, 16)
    for i, c in enumerate(label.tolist()):
        if c < 3:
            image[i, 0, 3 + 4 * c] += 1.0
        else:
            image[i, 0, :, 3 + 4 * (c - 3)] += 1.0
    return image, label


class ActivationMonitor:
    """Reports which share of the activations is zero, for each watched layer."""

    def __init__(self, model, kinds=(nn.ReLU,)):
        self.records = {}
        for name, module in model.named_modules():
            if isinstance(module, kinds):
                module.register_forward_hook(self._recorder(name))

    def _recorder(self, name):
        history = self.records.setdefault(name, [])

        def record(module, inputs, output):
            history.append(output)  # CULPRIT

        return record

    def report(self):
        shares = {k: [(o == 0).float().mean() for o in v[-8:]] for k, v in self.records.items()}
        return "  ".join(f"{k}: {sum(v).item() / len(v):.2f}" for k, v in shares.items())


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 8 * 8, 6),
    )


def train(steps=90, batch=64):
    model = build()
    monitor = ActivationMonitor(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for step in range(1, steps + 1):
        image, label = glyphs(batch)
        loss = criterion(model(image), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 15 == 0:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"step {step}: loss {loss.item():.3f}  zero share {monitor.report()}  peak memory {memory} MB")


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
