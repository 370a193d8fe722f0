"""RIGHT. Fine-tuning in two stages: first the frozen backbone runs without gradients and its features are cached, later it is unfrozen and joins the same optimizer.
TRUTH: train() is overridden so that a frozen backbone stays in eval mode (its BatchNorm statistics do not move), the cached features are valid as long as it is frozen, and add_param_group gives the optimizer the backbone at the moment it is unfrozen.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, dim=12, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(dim, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
        )

    def forward(self, x):
        return self.body(x)


class FineTuneNet(nn.Module):
    def __init__(self, backbone, width=32, classes=3):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, classes))
        self.frozen = False

    def freeze(self):
        self.frozen = True
        self.backbone.requires_grad_(False)
        return self.train(self.training)

    def unfreeze(self):
        self.frozen = False
        self.backbone.requires_grad_(True)
        return self.train(self.training)

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.backbone.eval()
        return self

    def features(self, x):
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            return self.backbone(x)

    def forward(self, x):
        return self.head(self.features(x))


def dataset(n, classes, seed, scale=1.0):
    g = torch.Generator().manual_seed(seed)
    centers = 1.5 * torch.randn(classes, 12, generator=g)
    y = torch.randint(0, classes, (n,))
    return scale * (centers[y] + torch.randn(n, 12)), y


def pretrain(backbone):
    x, y = dataset(512, 5, seed=1)
    head = nn.Linear(32, 5)
    optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=5e-3)
    for idx in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(head(backbone(x[idx])), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.3f}")


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def snapshot(module):
    return {k: v.clone() for k, v in module.state_dict().items()}


def unchanged(module, before):
    return all(torch.equal(v, before[k]) for k, v in module.state_dict().items())


def main():
    backbone = Backbone()
    pretrain(backbone)
    x, y = dataset(384, 3, seed=2, scale=1.3)
    xv, yv = dataset(192, 3, seed=2, scale=1.3)

    net = FineTuneNet(backbone).freeze()
    net.train()
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.05, momentum=0.9)
    before = snapshot(backbone)
    cache = net.features(x)
    for epoch in range(3):
        for idx in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(net.head(cache[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"stage 1 acc {accuracy(net, xv, yv):.3f} backbone unchanged {unchanged(backbone, before)}")

    del cache
    net.unfreeze()
    optimizer.add_param_group({"params": list(backbone.parameters()), "lr": 0.005})
    for epoch in range(3):
        for idx in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"stage 2 acc {accuracy(net, xv, yv):.3f} backbone unchanged {unchanged(backbone, before)}")


if __name__ == "__main__":
    main()
