"""Two-stage transfer: pretrain a small CNN on many classes, then train a new head on few images.

TRUTH: correct: in the second stage the backbone is meant to stay fixed, so its parameters have requires_grad False and are not
given to the optimizer, features are computed under no_grad, and train() is overridden so that its batch norm stays in eval mode
although model.train() is called every epoch; only the head (with its own dropout) has gradients. The checksum of the backbone
is unchanged and the new task is learned.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Textures(Dataset):
    """oriented gratings: class = (angle bin, frequency bin)"""

    def __init__(self, n, angles, freqs, seed, noise=0.5, size=16):
        rng = np.random.RandomState(seed)
        yy, xx = np.mgrid[0:size, 0:size]
        self.y = rng.randint(0, angles * len(freqs), n)
        imgs = []
        for c in self.y:
            a = np.pi * (c % angles + rng.uniform(-0.2, 0.2)) / angles
            f = freqs[c // angles]
            wave = np.sin(f * (np.cos(a) * xx + np.sin(a) * yy) + rng.uniform(0, 2 * np.pi))
            imgs.append(3.0 + 2.0 * (wave + noise * rng.normal(size=(size, size))))
        self.x = torch.tensor(np.array(imgs), dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], int(self.y[i])


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 5, padding=2, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.out_dim = 8 * width

    def forward(self, x):
        return self.body(x)


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(backbone.out_dim, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


class FineTuner(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(backbone.out_dim, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, classes))
        self.train()

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.head(h)


def run(model, loader, val, epochs, lr, name):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = np.mean([(model(x).argmax(1) == y).float().mean().item() for x, y in val])
        if epoch % max(1, epochs // 4) == 0:
            print("%s epoch %2d  loss %.4f  val accuracy %.3f  (%d trainable tensors)"
                  % (name, epoch, total / len(loader), acc, len(params)))


def checksum(module):
    return sum(t.double().abs().sum().item() for t in module.state_dict().values())


def main():
    torch.manual_seed(9)
    pre = DataLoader(Textures(800, 8, [0.7, 1.3], 1), batch_size=40, shuffle=True)
    pre_val = DataLoader(Textures(320, 8, [0.7, 1.3], 2), batch_size=160)
    source = Classifier(Backbone(), 16)
    run(source, pre, pre_val, epochs=6, lr=5e-3, name="pretrain")

    few = DataLoader(Textures(120, 5, [1.0], 3), batch_size=20, shuffle=True)
    few_val = DataLoader(Textures(300, 5, [1.0], 4), batch_size=150)
    model = FineTuner(source.backbone, 5)
    before = checksum(model.backbone)
    run(model, few, few_val, epochs=20, lr=5e-3, name="finetune")
    print("backbone changed by %.3g" % abs(checksum(model.backbone) - before))


if __name__ == "__main__":
    main()
