"""CORRECT. Gradient reversal: the custom Function is the identity forward and multiplies the gradient by -lambda backward (None for
the non-tensor argument), so one optimizer trains classifier, domain classifier and, adversarially, the feature extractor.
THREAD: https://github.com/CuthbertCai/pytorch_DANN/issues/14 (the repository's DANN training)
"""
import numpy as np
import torch
import torch.nn as nn


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.constant, None


def grad_reverse(x, constant):
    return GradReverse.apply(x, constant)


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class ClassClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(16, 32), nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class DomainClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(16, 32), nn.Linear(32, 2)

    def forward(self, x, constant):
        x = grad_reverse(x, constant)
        return self.fc2(torch.relu(self.fc1(x)))


def domain(n, target):
    y = torch.randint(0, 3, (n,))
    x = CENTERS[y] + 0.5 * torch.randn(n, 10)
    if target:
        x = torch.cat([x[:, :8], x[:, 8:] + 1.5], 1)
    return x, y


if __name__ == '__main__':
    torch.manual_seed(0)
    CENTERS = torch.randn(3, 10)
    fe, cc, dc = Extractor(), ClassClassifier(), DomainClassifier()
    optimizer = torch.optim.SGD([{'params': fe.parameters()}, {'params': cc.parameters()}, {'params': dc.parameters()}],
                                lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    total = 800
    log = []
    for it in range(total):
        constant = 2. / (1. + np.exp(-10 * it / total)) - 1
        constant *= 0.5
        xs, ys = domain(64, False)
        xt, _ = domain(64, True)
        fs, ft = fe(xs), fe(xt)
        class_loss = criterion(cc(fs), ys)
        domain_loss = criterion(dc(fs, constant), torch.zeros(64, dtype=torch.long)) \
            + criterion(dc(ft, constant), torch.ones(64, dtype=torch.long))
        loss = class_loss + 0.3 * domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((class_loss.item(), domain_loss.item()))
        if it % 160 == 159:
            with torch.no_grad():
                x, y = domain(1000, True)
                acc = (cc(fe(x)).argmax(1) == y).float().mean().item()
            print('iter %d class loss %.4f domain loss %.4f target acc %.3f' % (
                it + 1, *np.mean(log[-160:], 0), acc))
