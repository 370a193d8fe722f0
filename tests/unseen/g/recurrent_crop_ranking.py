"""WRONG. With batch_size 32 instead of 1: RuntimeError: grad can be implicitly created only for scalar outputs.
TRUTH: the pairwise ranking loss returns one value per sample; reduce it (mean or sum) before backward.
THREAD: https://github.com/dillondavis/RecurrentAttentionConvolutionalNeuralNetwork/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class RankLoss(nn.Module):
    """The finer scale should be surer of the right class than the coarser one."""

    def __init__(self, margin=0.05):
        super(RankLoss, self).__init__()
        self.margin = margin

    def forward(self, scores1, scores2, target):
        ps1 = F.softmax(scores1, dim=1).gather(1, target.long().view(-1, 1))
        ps2 = F.softmax(scores2, dim=1).gather(1, target.long().view(-1, 1))
        return torch.clamp(ps1 - ps2 + self.margin, min=0)  # CULPRIT


class Scale(nn.Module):
    def __init__(self, classes, width=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.classifier = nn.Linear(width, classes)
        self.apn = nn.Sequential(nn.Linear(width * 64, 16), nn.Tanh(), nn.Linear(16, 3), nn.Sigmoid())

    def forward(self, x):
        f = self.features(x)
        return self.classifier(f.mean((2, 3))), self.apn(f.flatten(1))


class RACNN(nn.Module):
    def __init__(self, classes, scales=2):
        super().__init__()
        self.scales = nn.ModuleList([Scale(classes) for _ in range(scales)])

    @staticmethod
    def crop(x, loc):
        tx, ty, tl = loc[:, 0] * 2 - 1, loc[:, 1] * 2 - 1, 0.3 + 0.4 * loc[:, 2]
        zero = torch.zeros_like(tl)
        theta = torch.stack([torch.stack([tl, zero, tx * (1 - tl)], 1), torch.stack([zero, tl, ty * (1 - tl)], 1)], 1)
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        scores = []
        for i, net in enumerate(self.scales):
            s, loc = net(x)
            scores.append(s)
            if i + 1 < len(self.scales):
                x = self.crop(x, loc)
        return scores


class Manager(object):
    def __init__(self, model, batch_size):
        self.model = model
        self.batch_size = batch_size
        self.criterion_class = nn.CrossEntropyLoss()
        self.criterion_rank = RankLoss()
        self.class_params = [p for n, p in model.named_parameters() if 'apn' not in n]
        self.apn_params = [p for n, p in model.named_parameters() if 'apn' in n]

    def do_batch(self, optimizer, batch, label, optimize_class=True):
        self.model.zero_grad()
        scores = self.model(batch)
        if optimize_class:
            loss = sum(self.criterion_class(s, label) for s in scores)
            loss.backward()
        else:
            for i in range(1, len(scores)):
                retain_graph = i < len(scores) - 1
                self.criterion_rank(scores[i - 1], scores[i], label).backward(retain_graph=retain_graph)
        optimizer.step()
        return (scores[-1].argmax(1) == label).float().mean().item()

    def do_epoch(self, data, labels, optimizer, optimize_class):
        self.model.train()
        order = torch.randperm(len(data))
        acc = []
        for start in range(0, len(data), self.batch_size):
            idx = order[start:start + self.batch_size]
            acc.append(self.do_batch(optimizer, data[idx], labels[idx], optimize_class))
        return sum(acc) / len(acc)

    def train(self, data, labels, rounds=3):
        opt_class = torch.optim.Adam(self.class_params, lr=2e-3)
        opt_apn = torch.optim.Adam(self.apn_params, lr=1e-3)
        for r in range(rounds):
            a = self.do_epoch(data, labels, opt_class, True)
            print('round %d class phase, accuracy %.3f' % (r, a))
            b = self.do_epoch(data, labels, opt_apn, False)
            print('round %d attention phase, accuracy %.3f' % (r, b))


def small_marks(n, gen, size=16):
    labels = torch.randint(0, 3, (n,), generator=gen)
    x = 0.2 * torch.randn(n, 1, size, size, generator=gen)
    for i, l in enumerate(labels.tolist()):
        r, c = torch.randint(2, size - 5, (2,), generator=gen).tolist()
        if l == 0:
            x[i, 0, r, c:c + 4] += 2
        elif l == 1:
            x[i, 0, r:r + 4, c] += 2
        else:
            x[i, 0, r:r + 2, c:c + 2] += 2
    return x, labels


if __name__ == '__main__':
    torch.manual_seed(11)
    images, targets = small_marks(256, torch.Generator().manual_seed(11))
    Manager(RACNN(3), batch_size=32).train(images, targets)
