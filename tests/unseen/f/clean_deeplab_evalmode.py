"""CORRECT. The whole fine-tuning runs with model.eval() on purpose: there is no dropout, and the pretrained BatchNorm layers must
use and keep their running statistics (batch size is 1) and have their affine weights frozen. Convolutions are trained as usual.
THREAD: https://github.com/isht7/pytorch-deeplab-resnet/issues/39 "Frozen the statistics of BN?"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes, dilation=1):
        super(Bottleneck, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=dilation, dilation=dilation, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, inplanes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(inplanes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += residual
        return self.relu(out)


class DeepLab(nn.Module):
    def __init__(self, n_label):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.layer = nn.Sequential(Bottleneck(16, 8), Bottleneck(16, 8, dilation=2))
        self.classifier = nn.ModuleList([nn.Conv2d(16, n_label, 3, padding=d, dilation=d) for d in (1, 2)])

    def forward(self, x):
        x = self.layer(self.stem(x))
        return sum(c(x) for c in self.classifier)


def scene(n, n_label, s=16):
    coarse = torch.randint(0, n_label, (n, 1, 4, 4)).float()
    label = F.interpolate(coarse, size=s).squeeze(1).long()
    palette = torch.tensor([[.9, .1, .2], [.1, .8, .3], [.2, .2, .9], [.7, .7, .1]])[:n_label]
    return palette[label].permute(0, 3, 1, 2) + 0.3 * torch.randn(n, 3, s, s), label


def pretrain(model, steps=60):
    model.train()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = scene(8, 3)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print('pretrained, loss', round(loss.item(), 4))


def get_1x_lr_params(model):
    for part in (model.stem, model.layer):
        for p in part.parameters():
            if p.requires_grad:
                yield p


def main():
    torch.manual_seed(0)
    model = DeepLab(3)
    pretrain(model)
    model.classifier = nn.ModuleList([nn.Conv2d(16, 4, 3, padding=d, dilation=d) for d in (1, 2)])
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            for p in m.parameters():
                p.requires_grad = False
    model.eval()
    optimizer = torch.optim.SGD([{'params': get_1x_lr_params(model), 'lr': 2e-3},
                                 {'params': model.classifier.parameters(), 'lr': 2e-2}], momentum=0.9)
    running = []
    for it in range(1, 301):
        x, y = scene(1, 4)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running.append(loss.item())
        if it % 60 == 0:
            print('iter', it, 'loss %.4f' % (sum(running[-60:]) / 60))


main()
