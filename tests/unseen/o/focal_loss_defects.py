"""Multi-class focal loss for surface defect patches (imbalanced classes).

Small CNN on synthetic 12x12 patches of five defect types; class weights alpha are
given as a list, gamma = 2.

TRUTH: FocalLoss.forward assigns the gathered per-sample weights back to self.alpha, so from the second batch on the class
weights are looked up in the previous batch's sample weights: wrong weights, and an index error when the last batch of an
epoch is smaller than the number of classes (here: RuntimeError, index out of bounds in gather at the start of epoch 2).
Fix: use a local variable for the gathered weights. Drawn from yatengLG/Focal-Loss-Pytorch#9 (alpha bug) and #5.
"""
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader

CLASSES = ["none", "scratch", "dent", "stain", "crack"]
FREQ = [0.55, 0.2, 0.12, 0.08, 0.05]


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Patches(Dataset):
    def __init__(self, n, seed, size=12):
        rng = np.random.RandomState(seed)
        self.labels = rng.choice(len(CLASSES), size=n, p=FREQ)
        self.images = rng.normal(0, 0.3, size=(n, 1, size, size)).astype(np.float32)
        for img, c in zip(self.images, self.labels):
            i, j = rng.randint(2, size - 4, size=2)
            if c == 1:
                img[0, i, 1:-1] += 1.2
            elif c == 2:
                img[0, i:i + 3, j:j + 3] -= 1.2
            elif c == 3:
                img[0, i:i + 3, j:j + 3] += 1.0
            elif c == 4:
                img[0, 1:-1, j] += 1.2

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return torch.from_numpy(self.images[idx]), int(self.labels[idx])


class FocalLoss(nn.Module):
    """focal loss, -alpha (1 - p)^gamma log(p)

    :param alpha: list of class weights, or a number: then [alpha, 1-alpha, 1-alpha, ...]
    """

    def __init__(self, alpha=0.25, gamma=2, num_classes=3, size_average=True):
        super().__init__()
        self.size_average = size_average
        if isinstance(alpha, list):
            assert len(alpha) == num_classes
            self.alpha = torch.Tensor(alpha)
        else:
            assert alpha < 1
            self.alpha = torch.zeros(num_classes)
            self.alpha[0] += alpha
            self.alpha[1:] += (1 - alpha)
        self.gamma = gamma

    def class_weights(self, labels):
        self.alpha = self.alpha.gather(0, labels.view(-1))  # CULPRIT
        return self.alpha

    def forward(self, preds, labels):
        preds = preds.view(-1, preds.size(-1))
        logp = F.log_softmax(preds, dim=1)
        logp = logp.gather(1, labels.view(-1, 1)).squeeze(1)
        p = torch.exp(logp)
        alpha = self.class_weights(labels)
        loss = -torch.pow(1 - p, self.gamma) * logp
        loss = alpha * loss
        return loss.mean() if self.size_average else loss.sum()


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveMaxPool2d(1))
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


@torch.no_grad()
def per_class_recall(net, loader):
    net.eval()
    hit, cnt = np.zeros(len(CLASSES)), np.zeros(len(CLASSES))
    for x, y in loader:
        pred = net(x).argmax(1)
        for c in range(len(CLASSES)):
            m = y == c
            cnt[c] += m.sum().item()
            hit[c] += (pred[m] == c).sum().item()
    net.train()
    return hit / np.maximum(cnt, 1)


def main():
    seed_everything(10)
    train = DataLoader(Patches(643, 1), batch_size=32, shuffle=True)
    val = DataLoader(Patches(400, 2), batch_size=100)
    net = Net(len(CLASSES))
    criterion = FocalLoss(alpha=[0.1, 0.2, 0.3, 0.4, 0.5], gamma=2, num_classes=len(CLASSES))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        recall = per_class_recall(net, val)
        print("epoch %d loss %.4f recall %s" % (epoch, total / len(train), np.round(recall, 2)))


if __name__ == "__main__":
    main()
