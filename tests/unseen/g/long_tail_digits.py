"""WRONG. The focal loss is no focal loss: it can be called without the final mean() and nothing changes.
TRUTH: F.cross_entropy already returns the mean over the batch, so one single modulating factor is computed for all samples; ask for the single values with reduction='none'.
THREAD: https://github.com/kaidic/LDAM-DRW/issues/6
"""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description='imbalanced training')
parser.add_argument('--loss_type', default='Focal', type=str, choices=['CE', 'Focal', 'LDAM'])
parser.add_argument('--imb_factor', default=0.02, type=float)
parser.add_argument('--epochs', default=15, type=int)
parser.add_argument('--lr', default=0.1, type=float)
parser.add_argument('--seed', default=0, type=int)


def focal_loss(input_values, gamma):
    """Computes the focal loss"""
    p = torch.exp(-input_values)
    loss = (1 - p) ** gamma * input_values
    return loss.mean()


class FocalLoss(nn.Module):
    def __init__(self, gamma=0.):
        super(FocalLoss, self).__init__()
        assert gamma >= 0
        self.gamma = gamma

    def forward(self, input, target):
        return focal_loss(F.cross_entropy(input, target), self.gamma)  # CULPRIT


class LDAMLoss(nn.Module):
    def __init__(self, cls_num_list, max_m=0.5, s=30):
        super(LDAMLoss, self).__init__()
        m_list = 1.0 / np.sqrt(np.sqrt(cls_num_list))
        m_list = m_list * (max_m / np.max(m_list))
        self.m_list = torch.tensor(m_list, dtype=torch.float)
        self.s = s

    def forward(self, x, target):
        index = F.one_hot(target, x.shape[1]).bool()
        batch_m = self.m_list[target].view(-1, 1)
        output = torch.where(index, x - batch_m, x)
        return F.cross_entropy(self.s * output, target)


class NormedLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super(NormedLinear, self).__init__()
        self.weight = Parameter(torch.Tensor(in_features, out_features))
        self.weight.data.uniform_(-1, 1).renorm_(2, 1, 1e-5).mul_(1e5)

    def forward(self, x):
        return F.normalize(x, dim=1).mm(F.normalize(self.weight, dim=0))


class MLP(nn.Module):
    def __init__(self, dim, classes, use_norm=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.linear = NormedLinear(64, classes) if use_norm else nn.Linear(64, classes)

    def forward(self, x):
        return self.linear(self.body(x))


def get_img_num_per_cls(cls_num, img_max, imb_factor):
    return [int(img_max * imb_factor ** (i / (cls_num - 1.0))) for i in range(cls_num)]


def clusters(counts, seed, dim=16):
    centers = 1.1 * torch.randn(len(counts), dim, generator=torch.Generator().manual_seed(123))
    g = torch.Generator().manual_seed(seed)
    y = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return centers[y] + 1.3 * torch.randn(len(y), dim, generator=g), y


def adjust_learning_rate(optimizer, epoch, args):
    """A warm-up of three epochs, and one drop near the end."""
    lr = args.lr * (epoch + 1) / 3 if epoch < 3 else (args.lr * 0.1 if epoch >= args.epochs - 3 else args.lr)
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr


def validate(loader, model, criterion, classes):
    model.eval()
    losses, hits, counts = 0.0, torch.zeros(classes), torch.zeros(classes)
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            losses += criterion(out, y).item() * len(y)
            hits.index_add_(0, y, (out.argmax(1) == y).float())
            counts.index_add_(0, y, torch.ones(len(y)))
    return losses / counts.sum().item(), hits / counts


def main():
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    num_classes = 8
    cls_num_list = get_img_num_per_cls(num_classes, 500, args.imb_factor)
    print('cls num list:', cls_num_list)
    train_loader = DataLoader(TensorDataset(*clusters(cls_num_list, 1)), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(*clusters([50] * num_classes, 2)), batch_size=100)
    model = MLP(16, num_classes, use_norm=args.loss_type == 'LDAM')
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=2e-4)
    criterion = {'CE': nn.CrossEntropyLoss(), 'Focal': FocalLoss(gamma=2), 'LDAM': LDAMLoss(cls_num_list)}[args.loss_type]
    for epoch in range(args.epochs):
        adjust_learning_rate(optimizer, epoch, args)
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            vloss, per_class = validate(val_loader, model, criterion, num_classes)
            print('epoch %d val loss %.4f acc %.3f head %.3f tail %.3f' % (
                epoch, vloss, per_class.mean(), per_class[:3].mean(), per_class[-3:].mean()))


if __name__ == '__main__':
    main()
