"""WRONG. Open-set domain adaptation on sensor tables: the first backward through the target branch raises
AttributeError: 'GradReverseBackward' object has no attribute 'lambd'.
TRUTH: grad_reverse instantiates the Function and hopes that the instance is the ctx of backward; pass lambd through apply, store it on
ctx in forward and return (grad * -ctx.lambd, None).
THREAD: https://github.com/YU1ut/openset-DA/issues/8
"""
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", category=DeprecationWarning)


class GradReverse(Function):
    def __init__(self, lambd):
        self.lambd = lambd

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.lambd


def grad_reverse(x, lambd=1.0):
    return GradReverse(lambd).apply(x)  # CULPRIT


class Generator(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden), nn.BatchNorm1d(hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.LeakyReLU(0.2),
        )

    def forward(self, x):
        return self.net(x)


class Classifier(nn.Module):
    def __init__(self, hidden, num_classes):
        super().__init__()
        self.fc1 = nn.Linear(hidden, hidden)
        self.fc2 = nn.Linear(hidden, num_classes)
        self.lambd = 1.0

    def set_lambda(self, lambd):
        self.lambd = lambd

    def forward(self, x, reverse=False):
        if reverse:
            x = grad_reverse(x, self.lambd)
        return self.fc2(F.relu(self.fc1(x)))


def bce_unknown(logits, t):
    prob = F.softmax(logits, dim=1)[:, -1]
    target = torch.full_like(prob, t)
    return F.binary_cross_entropy(prob.clamp(1e-6, 1 - 1e-6), target)


def make_domain(n, known, total, n_features, shift, centers):
    labels = torch.randint(0, total, (n,))
    x = centers[labels] + 0.5 * torch.randn(n, n_features) + shift
    return x, labels.clamp(max=known)


@torch.no_grad()
def test(generator, classifier, loader, known):
    generator.eval()
    classifier.eval()
    hit = torch.zeros(known + 1)
    count = torch.zeros(known + 1)
    for x, y in loader:
        pred = classifier(generator(x)).argmax(1)
        for k in range(known + 1):
            hit[k] += (pred[y == k] == k).sum()
            count[k] += (y == k).sum()
    generator.train()
    classifier.train()
    return (hit / count.clamp(min=1)).tolist()


def main():
    torch.manual_seed(0)
    known, total, n_features = 3, 5, 8
    centers = 2.0 * torch.randn(total, n_features)
    shift = 0.4 * torch.randn(n_features)
    xs, ys = make_domain(480, known, known, n_features, 0.0, centers)
    xt, yt = make_domain(480, known, total, n_features, shift, centers)
    source = DataLoader(TensorDataset(xs, ys), batch_size=32, shuffle=True, drop_last=True)
    target = DataLoader(TensorDataset(xt, yt), batch_size=32, shuffle=True, drop_last=True)

    G, C = Generator(n_features, 32), Classifier(32, known + 1)
    opt_g = torch.optim.SGD(G.parameters(), lr=0.02, momentum=0.9)
    opt_c = torch.optim.SGD(C.parameters(), lr=0.02, momentum=0.9)

    n_epochs = 4
    for epoch in range(n_epochs):
        C.set_lambda((epoch + 1) / n_epochs)
        sum_s = sum_t = 0.0
        for (x_s, y_s), (x_t, _) in zip(source, target):
            opt_g.zero_grad()
            opt_c.zero_grad()
            loss_s = F.cross_entropy(C(G(x_s)), y_s)
            loss_s.backward()
            loss_t = bce_unknown(C(G(x_t), reverse=True), 0.5)
            loss_t.backward()
            opt_g.step()
            opt_c.step()
            sum_s += loss_s.item()
            sum_t += loss_t.item()
        acc = test(G, C, target, known)
        print(f"epoch {epoch} loss_s {sum_s / len(source):.3f} loss_t {sum_t / len(target):.3f} "
              f"acc {' '.join(f'{a:.2f}' for a in acc)}")


if __name__ == "__main__":
    main()
