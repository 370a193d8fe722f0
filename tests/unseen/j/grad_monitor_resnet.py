# kind: full_backward_hook_inplace
"""Small residual network with a monitor of the gradients that reach each block."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(4, c_out)

    def forward(self, x):
        return self.norm(self.conv(x))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = ConvBlock(channels, channels)
        self.second = ConvBlock(channels, channels)

    def forward(self, x):
        out = F.relu(self.first(x))
        out = self.second(out)
        out += x  # CULPRIT
        return F.relu(out)


class Net(nn.Module):
    def __init__(self, n_classes=3, width=16):
        super().__init__()
        self.stem = ConvBlock(1, width)
        self.layers = nn.Sequential(Residual(width), Residual(width))
        self.fc = nn.Linear(width, n_classes)

    def forward(self, x):
        x = self.layers(F.relu(self.stem(x)))
        return self.fc(x.mean(dim=(2, 3)))


class GradientMonitor:
    """Keeps the last norm of the gradient at the output of each watched module."""

    def __init__(self, model, kinds):
        self.norms = {}
        self.handles = [
            module.register_full_backward_hook(self._hook(name))
            for name, module in model.named_modules()
            if isinstance(module, kinds)
        ]

    def _hook(self, name):
        def record(module, grad_input, grad_output):
            self.norms[name] = grad_output[0].norm().item()

        return record

    def summary(self):
        return "  ".join(f"{n}={v:.4f}" for n, v in self.norms.items())


def make_stripes(n, size=12):
    """Horizontal, vertical and diagonal stripes with noise."""
    labels = torch.randint(0, 3, (n,))
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    bank = torch.stack([yy, xx, yy + xx]).float()
    phase = torch.rand(n, 1, 1) * 6.28
    images = torch.sin(bank[labels] * 1.5 + phase) + 0.3 * torch.randn(n, size, size)
    return TensorDataset(images.unsqueeze(1), labels)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_stripes(256), batch_size=32, shuffle=True)
    model = Net()
    monitor = GradientMonitor(model.layers, ConvBlock)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(4):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        print(f"epoch {epoch}  loss {total / 256:.4f}  {monitor.summary()}")


if __name__ == "__main__":
    main()
