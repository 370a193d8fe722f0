"""Knowledge distillation with mixup: a frozen teacher in eval mode, soft targets for cross_entropy and a KLDivLoss on log-softmax against softmax."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def cnn(width, classes):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(4 * width, classes))


def make(n, protos):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] + 0.9 * torch.randn(n, 1, 10, 10), y


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    return (net(x).argmax(1) == y).float().mean().item()


def mixup(x, y, classes, alpha=0.2):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(x))
    target = lam * F.one_hot(y, classes).float() + (1 - lam) * F.one_hot(y[perm], classes).float()
    return lam * x + (1 - lam) * x[perm], target


def train_teacher(net, loader, epochs=4):
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(net(x), y, label_smoothing=0.05).backward()
            opt.step()
    net.eval()
    return net.requires_grad_(False)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    classes, T = 6, 3.0
    protos = torch.randn(classes, 1, 10, 10)
    loader = DataLoader(TensorDataset(*make(600, protos)), batch_size=40, shuffle=True)
    xt, yt = make(400, protos)
    teacher = train_teacher(cnn(16, classes), loader)
    print("teacher acc %.3f" % accuracy(teacher, xt, yt))
    student = cnn(4, classes)
    kd = nn.KLDivLoss(reduction="batchmean")
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    for epoch in range(8):
        student.train()
        total = 0.0
        for x, y in loader:
            x, target = mixup(x, y, classes)
            with torch.no_grad():
                soft = F.softmax(teacher(x) / T, dim=1)
            logits = student(x)
            loss = 0.5 * F.cross_entropy(logits, target) + 0.5 * T * T * kd(F.log_softmax(logits / T, dim=1), soft)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print("epoch %d loss %.3f student acc %.3f" % (epoch, total / len(loader), accuracy(student, xt, yt)))


if __name__ == "__main__":
    main()
