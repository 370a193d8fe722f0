"""CORRECT. Incremental learning: F.kl_div gets log_softmax of the current model and softmax of the previous one (asked whether the mix is a mistake; that is the documented use); the old model is a frozen deepcopy in eval mode.
THREAD: https://github.com/kjaved0/incremental-learning/issues/5
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CENTERS = torch.randn(6, 8) * 2.5


def get_data(classes, n):
    y = torch.tensor(classes)[torch.randint(0, len(classes), (n,))]
    return CENTERS[y] + torch.randn(n, 8), y


class ResNetLike(nn.Module):
    def __init__(self, classes=6, width=32):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.block = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.fc = nn.Linear(width, classes)

    def forward(self, x, T=1, labels=False):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.block(x))
        x = self.fc(x) / T
        if labels:
            return F.softmax(x, dim=1)
        return F.log_softmax(x, dim=1)


class Trainer:
    def __init__(self, model, T=2.0, alpha=0.5):
        self.model = model
        self.model_fixed = None
        self.T, self.alpha = T, alpha
        self.older_classes = []

    def update_frozen_model(self):
        self.model.eval()
        self.model_fixed = copy.deepcopy(self.model)
        self.model_fixed.eval()
        for param in self.model_fixed.parameters():
            param.requires_grad = False
        self.model.train()

    def train(self, classes, steps=200):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        for step in range(steps):
            data, target = get_data(classes, 64)
            optimizer.zero_grad()
            output = self.model(data)
            loss = F.nll_loss(output, target)
            if self.model_fixed is not None:
                # a few exemplars of the old classes
                old, _ = get_data(self.older_classes, 16)
                pred2 = self.model_fixed(old, T=self.T, labels=True)
                output2 = self.model(old, T=self.T)
                loss2 = F.kl_div(output2, pred2, reduction='batchmean')
                loss = (1 - self.alpha) * loss + self.alpha * self.T ** 2 * loss2
            loss.backward()
            optimizer.step()
        self.older_classes = self.older_classes + list(classes)
        return loss.item()

    def accuracy(self, classes):
        self.model.eval()
        with torch.no_grad():
            x, y = get_data(classes, 500)
            out = (self.model(x).argmax(1) == y).float().mean().item()
        self.model.train()
        return out


trainer = Trainer(ResNetLike())
for group in ([0, 1], [2, 3], [4, 5]):
    if trainer.older_classes:
        trainer.update_frozen_model()
    loss = trainer.train(group)
    print('classes', group, 'loss %.4f' % loss, 'acc new %.3f' % trainer.accuracy(group),
          'acc all seen %.3f' % trainer.accuracy(trainer.older_classes))
