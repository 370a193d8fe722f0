"""CuthbertCai/pytorch_DANN#10, "lambda for GRL is minus, but the grad has been reversal before multiply lambda."
Symptom: the domain classifier stays far above 50% and the target accuracy does not gain from the adversarial training.
EXPECT: runs
TRUTH: gamma is -10, so the constant of the gradient reversal layer is negative and the gradient is reversed twice; gamma must be 10.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(26)
torch.set_num_threads(1)


class params:
    batch_size = 64
    epochs = 20
    theta = 1.0
    gamma = -10  # CULPRIT


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.neg() * ctx.constant  # CULPRIT
        return grad_output, None


class Extractor(nn.Module):
    def __init__(self, dim=10, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 16), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class ClassClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 3)

    def forward(self, feat):
        return self.fc(feat)


class DomainClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, feat, constant):
        return self.net(GradReverse.apply(feat, constant))


def make_domains(n):
    centers = 1.5 * torch.randn(3, 10)
    ys, yt = torch.randint(0, 3, (2, n))
    xs = centers[ys] + 0.7 * torch.randn(n, 10)
    offset = 2.2 * F.normalize(torch.randn(10), dim=0)
    xt = centers[yt] + 0.7 * torch.randn(n, 10) + offset
    return TensorDataset(xs, ys), TensorDataset(xt, yt)


def train(extractor, classifier, domain, src_loader, tgt_loader, optimizer, epoch):
    hits = total = 0
    n = min(len(src_loader), len(tgt_loader))
    for i, ((xs, ys), (xt, _)) in enumerate(zip(src_loader, tgt_loader)):
        p = float(i + epoch * n) / (params.epochs * n)
        constant = 2.0 / (1.0 + math.exp(-params.gamma * p)) - 1
        src_feat, tgt_feat = extractor(xs), extractor(xt)
        class_loss = F.cross_entropy(classifier(src_feat), ys)
        preds = domain(torch.cat([src_feat, tgt_feat]), constant)
        labels = torch.cat([torch.zeros(len(xs)), torch.ones(len(xt))]).long()
        domain_loss = F.cross_entropy(preds, labels)
        loss = class_loss + params.theta * domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (preds.argmax(1) == labels).sum().item()
        total += len(labels)
    return class_loss.item(), domain_loss.item(), hits / total


def main():
    src, tgt = make_domains(1000)
    src_loader = DataLoader(src, batch_size=params.batch_size, shuffle=True)
    tgt_loader = DataLoader(tgt, batch_size=params.batch_size, shuffle=True)
    extractor, classifier, domain = Extractor(), ClassClassifier(), DomainClassifier()
    modules = nn.ModuleList([extractor, classifier, domain])
    optimizer = torch.optim.SGD(modules.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(params.epochs):
        stats = train(extractor, classifier, domain, src_loader, tgt_loader, optimizer, epoch)
        if epoch % 4 == 3:
            with torch.no_grad():
                acc = (classifier(extractor(tgt.tensors[0])).argmax(1) == tgt.tensors[1]).float().mean().item()
            print("epoch %d class loss %.4f domain loss %.4f domain acc %.3f target acc %.3f" % ((epoch,) + stats + (acc,)))


if __name__ == "__main__":
    main()
