# kind: forgotten_unfreeze
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.stage = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))

    def forward(self, x):
        return self.stage(self.stem(x)).flatten(1)


class SpeciesNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


class GradualUnfreeze:
    """The head learns alone at first, the backbone joins at the given epoch."""

    def __init__(self, model, prefix, at_epoch):
        self.model, self.prefix, self.at_epoch = model, prefix, at_epoch
        self.model.backbone.requires_grad_(False)

    def on_epoch_start(self, epoch):
        if epoch == self.at_epoch:
            for name, p in self.model.named_parameters():
                if name.startswith(self.prefix):
                    p.requires_grad_(True)


def textures(n, size=12):
    y = torch.randint(0, 4, (n,))
    r, c = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    fields = torch.stack([r, c, r + c, r - c])
    x = torch.sin(1.6 * fields[y] + 6 * torch.rand(n, 1, 1)).unsqueeze(1)
    return x + 0.8 * torch.randn_like(x), y


def main():
    torch.manual_seed(0)
    model = SpeciesNet()
    callbacks = [GradualUnfreeze(model, "encoder.", at_epoch=2)]  # CULPRIT
    optimizer = torch.optim.Adam([
        {"params": model.head.parameters(), "lr": 5e-3},
        {"params": model.backbone.parameters(), "lr": 3e-3},
    ])
    for epoch in range(8):
        for cb in callbacks:
            cb.on_epoch_start(epoch)
        hits = 0
        for _ in range(10):
            x, y = textures(48)
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {hits / 480:.3f}")


main()
