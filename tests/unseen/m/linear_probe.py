"""WRONG. All parameters of the backbone are frozen for the linear evaluation, nevertheless the pretrained classifier on top of the same backbone is much worse after the probe has been trained.
TRUTH: train_one_epoch calls model.train() on the whole model, so the BatchNorm layers of the frozen backbone go back to training mode and overwrite their running statistics; the backbone must be put in eval mode after it (only the head in train mode).
THREAD: https://github.com/kdexd/virtex/issues/16
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

_C = {
    "width": 32,
    "feature": 16,
    "pretrain_epochs": 4,
    "probe_epochs": 4,
    "batch": 64,
    "lr_pretrain": 1e-2,
    "lr_probe": 5e-2,
}


class VisualBackbone(nn.Module):
    def __init__(self, dim, width, feature):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(dim, width, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Linear(width, feature, bias=False), nn.BatchNorm1d(feature), nn.ReLU())

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Classifier(nn.Module):
    def __init__(self, backbone, feature, classes):
        super().__init__()
        self.visual = backbone
        self.fc = nn.Linear(feature, classes)

    def forward(self, x):
        return self.fc(self.visual(x))


def source_data(n=768):
    y = torch.randint(0, 4, (n,))
    g = torch.Generator().manual_seed(3)
    centers = 2 * torch.randn(4, 10, generator=g)
    return TensorDataset(centers[y] + torch.randn(n, 10), y)


def target_data(n=512):
    y = torch.randint(0, 3, (n,))
    g = torch.Generator().manual_seed(4)
    centers = 1.5 * torch.randn(3, 10, generator=g)
    return TensorDataset(3 * (centers[y] + torch.randn(n, 10)) - 4, y)


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False
    module.eval()


def train_one_epoch(model, loader, optimizer):
    model.train()  # CULPRIT
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits, n = 0, 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
        n += len(y)
    return hits / n


def pretrain(backbone, loader):
    model = Classifier(backbone, _C["feature"], 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=_C["lr_pretrain"])
    for _ in range(_C["pretrain_epochs"]):
        train_one_epoch(model, loader, optimizer)
    return model


def main():
    source = DataLoader(source_data(), _C["batch"], shuffle=True)
    source_val = DataLoader(source_data(256), _C["batch"])
    target = DataLoader(target_data(), _C["batch"], shuffle=True)
    target_val = DataLoader(target_data(256), _C["batch"])

    backbone = VisualBackbone(10, _C["width"], _C["feature"])
    pretrained = pretrain(backbone, source)
    print(f"pretrained classifier: {evaluate(pretrained, source_val):.3f}")

    freeze(backbone)
    probe = Classifier(backbone, _C["feature"], 3)
    optimizer = torch.optim.SGD(probe.fc.parameters(), lr=_C["lr_probe"], momentum=0.9)
    before = {k: v.clone() for k, v in backbone.state_dict().items()}
    for epoch in range(_C["probe_epochs"]):
        loss = train_one_epoch(probe, target, optimizer)
        print(f"probe epoch {epoch} loss {loss:.3f} acc {evaluate(probe, target_val):.3f}")

    changed = [k for k, v in backbone.state_dict().items() if not torch.equal(v, before[k])]
    print("backbone entries that changed:", changed)
    print(f"pretrained classifier afterwards: {evaluate(pretrained, source_val):.3f}")


if __name__ == "__main__":
    main()
