# kind: hook_registered_repeatedly
"""Bird songs: the lower layers learn slower, by scaling the gradients of their output."""
import torch
from torch import nn
import torch.nn.functional as F


class SongNet(nn.Module):
    def __init__(self, n_mels=16, width=32, species=6):
        super().__init__()
        self.lower = nn.Sequential(nn.Conv1d(n_mels, width, 5, padding=2), nn.ReLU(), nn.Conv1d(width, width, 5, padding=2), nn.ReLU())
        self.upper = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, species))

    def forward(self, x):
        return self.upper(self.lower(x).amax(-1))


class SlowDown:
    """Multiplies the gradients of a module's parameters by a factor."""

    def __init__(self, module, factor):
        self.module, self.factor = module, factor
        self.handles = []

    def attach(self):
        for p in self.module.parameters():  # CULPRIT
            self.handles.append(p.register_hook(lambda grad: grad * self.factor))

    def detach(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def songs(n, templates):
    label = torch.randint(len(templates), (n,))
    start = torch.randint(0, 12, (n,)).tolist()
    x = 0.8 * torch.randn(n, 16, 24)
    for i, s in enumerate(start):
        x[i, :, s:s + 12] += templates[label[i]]
    return x, label


class Run:
    def __init__(self, model, slow):
        self.model, self.slow = model, slow
        self.opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def start_epoch(self, epoch):
        # the first epoch trains all layers at full speed
        if epoch >= 1:
            self.slow.attach()

    def epoch(self, x, y):
        norms, total = [], 0.0
        for pick in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(self.model(x[pick]), y[pick])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            norms.append(self.model.lower[0].weight.grad.norm().item())
            total += loss.item() * len(pick)
        return total / len(x), sum(norms) / len(norms)


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = songs(768, 0.6 * torch.randn(6, 16, 12))
    model = SongNet()
    run = Run(model, SlowDown(model.lower, factor=0.3))
    for epoch in range(8):
        run.start_epoch(epoch)
        loss, norm = run.epoch(x, y)
        print(f"epoch {epoch}: loss {loss:.3f} gradient norm of the first layer {norm:.2e}")
