# kind: loss_left_out
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rings(n):
    """Points in six dimensions, the class is the shell of the radius."""
    x = torch.randn(n, 6)
    y = torch.bucketize(x.norm(dim=1), torch.tensor([1.9, 2.6]))
    return TensorDataset(x, y)


class EarlyExitNet(nn.Module):
    """Every stage has its own classifier, so that easy inputs can leave early."""

    def __init__(self, width=48, stages=3, classes=3):
        super().__init__()
        self.stem = nn.Linear(6, width)
        self.stages = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(stages)
        )
        self.exits = nn.ModuleList(nn.Linear(width, classes) for _ in range(stages))

    def forward(self, x):
        h = self.stem(x)
        outputs = []
        for stage, head in zip(self.stages, self.exits):
            h = h + stage(h)
            outputs.append(head(h))
        return outputs


class DeepSupervision(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, outputs, target):
        total = 0.0
        for weight, logits in zip(self.weights, outputs):
            term = weight * F.cross_entropy(logits, target)
            total = term  # CULPRIT
        return total


@torch.no_grad()
def exit_accuracies(net, loader):
    net.eval()
    hits = torch.zeros(len(net.exits))
    for x, y in loader:
        hits += torch.stack([(o.argmax(1) == y).sum() for o in net(x)])
    net.train()
    return [round(h, 3) for h in (hits / len(loader.dataset)).tolist()]


def main():
    torch.manual_seed(1)
    train = DataLoader(rings(1200), batch_size=64, shuffle=True)
    test = DataLoader(rings(300), batch_size=100)
    net = EarlyExitNet()
    criterion = DeepSupervision([0.3, 0.3, 1.0])
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(6):
        for x, y in train:
            loss = criterion(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, f"loss {loss.item():.3f}", "accuracy per exit", exit_accuracies(net, test))


main()
