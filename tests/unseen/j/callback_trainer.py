# kind: gradient_before_backward
"""Sine wave classification with a small Trainer and callbacks."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_epoch_end(self, trainer):
        pass

    def on_batch_start(self, trainer):
        pass

    def on_before_step(self, trainer):
        pass


class GradNormLogger(Callback):
    """Collects the norm of all gradients of every step."""

    def __init__(self):
        self.history = []

    def on_batch_start(self, trainer):  # CULPRIT
        norms = [p.grad.norm() for p in trainer.model.parameters()]
        self.history.append(torch.stack(norms).norm().item())

    def on_epoch_end(self, trainer):
        tail = self.history[-len(trainer.loader):]
        print(f"  grad norm mean {sum(tail) / len(tail):.3f} max {max(tail):.3f}")


class LossPrinter(Callback):
    def on_epoch_end(self, trainer):
        print(f"epoch {trainer.epoch} loss {trainer.epoch_loss:.4f}")


class Trainer:
    def __init__(self, model, loader, lr, callbacks=()):
        self.model, self.loader, self.callbacks = model, loader, list(callbacks)
        self.opt = torch.optim.RMSprop(model.parameters(), lr=lr)

    def emit(self, event):
        for cb in self.callbacks:
            getattr(cb, event)(self)

    def fit(self, epochs):
        for self.epoch in range(epochs):
            total = 0.0
            for x, y in self.loader:
                self.emit("on_batch_start")
                loss = F.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.emit("on_before_step")
                self.opt.step()
                total += loss.item()
            self.epoch_loss = total / len(self.loader)
            self.emit("on_epoch_end")


class WaveNetlet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 12, 7, padding=3)
        self.conv2 = nn.Conv1d(12, 12, 5, padding=2, dilation=1)
        self.head = nn.Linear(12, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x.unsqueeze(1)))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(dim=2))


def waves(n, classes=3, length=64):
    y = torch.randint(0, classes, (n,))
    freq = (2.0 + 4.0 * y).view(-1, 1)
    t = torch.linspace(0, 1, length)
    phase = torch.rand(n, 1) * 6.283
    return torch.sin(6.283 * freq * t + phase) + 0.2 * torch.randn(n, length), y


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*waves(384)), batch_size=48, shuffle=True)
    Trainer(WaveNetlet(3), loader, 3e-3, [LossPrinter(), GradNormLogger()]).fit(6)
