"""CSCYQJ/MICCAI23-ProtoContra-SFDA#18, "Implementation bug? It seems like the last layer is not frozen?"
Symptom: comparing the source model with the adapted one, the weights of the last layer differ although it was frozen.
EXPECT: runs
TRUTH: outc is a module, setting the attribute requires_grad on it does not reach its parameters; call requires_grad_(False).
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(29)
torch.set_num_threads(1)


def make_scans(n, gain=1.0, offset=0.0, size=14):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = torch.randint(4, size - 4, (2, n, 1, 1))
    r = torch.randint(2, 5, (n, 1, 1))
    label = (((yy - cy) ** 2 + (xx - cx) ** 2) <= r ** 2).long()
    image = gain * (label.float() + 0.4 * torch.randn(n, size, size)) + offset
    return image.unsqueeze(1), label


class UNet(nn.Module):
    def __init__(self, ch=8, n_classes=2):
        super().__init__()
        self.inc = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.outc = nn.Conv2d(ch, n_classes, 1, bias=False)

    def forward(self, x):
        x1 = self.inc(x)
        feat = x1 + self.up(self.down(x1))
        return feat, self.outc(feat)


def train_source(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(5):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x)[1], y).backward()
            optimizer.step()
    return model


class PFA_Trainer:
    """Prototype-anchored feature alignment: the classifier weights are the class prototypes."""

    def __init__(self, source_model, lr=2e-3):
        self.model = copy.deepcopy(source_model)
        self.model.outc.requires_grad = False  # CULPRIT
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def train_one_step(self, image):
        feat, _ = self.model(image)
        proto = self.model.outc.weight.view(2, -1)
        feat = feat.permute(0, 2, 3, 1).reshape(-1, feat.size(1))
        cost = -F.linear(feat, proto)
        cond = F.softmax(-cost, dim=1)
        loss = (cond * cost).sum(1).mean() * 0.1 + (cond.mean(0) * cond.mean(0).log()).sum() * 0.1
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def dice(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x)[1].argmax(1)
    model.train()
    return (2 * (pred * y).sum() / (pred.sum() + y.sum()).clamp(min=1)).item()


def main():
    source = DataLoader(TensorDataset(*make_scans(200)), batch_size=20, shuffle=True)
    xt, yt = make_scans(200, gain=0.8, offset=0.3)
    target = DataLoader(TensorDataset(xt), batch_size=20, shuffle=True)
    source_model = train_source(UNet(), source)
    print("source model, target dice %.3f" % dice(source_model, xt, yt))
    trainer = PFA_Trainer(source_model)
    for epoch in range(4):
        for (image,) in target:
            loss = trainer.train_one_step(image)
        print("epoch %d pfa loss %.4f target dice %.3f" % (epoch, loss, dice(trainer.model, xt, yt)))
    diff = (trainer.model.outc.weight - source_model.outc.weight).abs().max().item()
    print("largest change of the last layer: %.5f" % diff)


if __name__ == "__main__":
    main()
