"""WRONG. Fine tuning with a penalty that keeps the features near those of the pretrained network. The loss of the very
first batch is an ordinary number, from the second batch on everything is nan. A smaller learning rate does not help.
TRUTH: at the start student and teacher are equal, the MSE is exactly 0 and the derivative of sqrt at 0 is infinite
(inf * 0 = nan). In rmse(): `return torch.sqrt(F.mse_loss(input, target) + 1e-8)`.
THREAD: https://discuss.pytorch.org/t/function-mselossbackward-returned-nan-values-in-its-0th-output/94875
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, d_in=16, width=32, classes=4):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(d_in, width), nn.LayerNorm(width), nn.GELU())
        self.block2 = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, classes)

    def features(self, x):
        return self.block2(self.block1(x))

    def forward(self, x):
        return self.head(self.features(x))


def make_domain(n, shift):
    centers = torch.randn(4, 16, generator=torch.Generator().manual_seed(7))
    y = torch.randint(0, 4, (n,))
    x = centers[y] + 0.7 * torch.randn(n, 16)
    x[:, :4] += shift
    return x, y


def rmse(input, target):
    return torch.sqrt(F.mse_loss(input, target))  # CULPRIT


class AnchorLoss(nn.Module):
    """task loss + strength * distance of the features to the frozen reference"""

    def __init__(self, reference, strength):
        super().__init__()
        self.reference = reference
        self.strength = strength
        for p in self.reference.parameters():
            p.requires_grad_(False)
        self.reference.eval()

    def forward(self, model, x, y):
        feats = model.features(x)
        with torch.no_grad():
            anchor = self.reference.features(x)
        task = F.cross_entropy(model.head(feats), y, label_smoothing=0.05)
        drift = rmse(feats, anchor)
        return task + self.strength * drift, task.item(), drift.item()


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def pretrain(model, steps=40):
    x, y = make_domain(512, shift=0.0)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        idx = torch.randint(0, len(x), (64,))
        opt.zero_grad()
        F.cross_entropy(model(x[idx]), y[idx]).backward()
        opt.step()
    return accuracy(model, x, y)


def finetune(model, x, y, epochs=4, lr=1e-2):
    criterion = AnchorLoss(copy.deepcopy(model), strength=0.3)
    opt = torch.optim.SGD(
        [
            {'params': model.head.parameters(), 'lr': lr * 5},
            {'params': list(model.block1.parameters()) + list(model.block2.parameters())},
        ],
        lr=lr,
        momentum=0.9,
    )
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        for i, idx in enumerate(torch.randperm(len(x)).split(48)):
            opt.zero_grad()
            loss, task, drift = criterion(model, x[idx], y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if i % 2 == 0:
                print('epoch %d batch %d task %.4f drift %.4f' % (epoch, i, task, drift))
        sched.step()


def main():
    model = Backbone()
    print('pretrained: %.3f' % pretrain(model))
    x, y = make_domain(192, shift=1.5)
    xt, yt = make_domain(200, shift=1.5)
    print('new domain before: %.3f' % accuracy(model, xt, yt))
    finetune(model, x, y)
    print('new domain after: %.3f' % accuracy(model, xt, yt))


if __name__ == '__main__':
    main()
