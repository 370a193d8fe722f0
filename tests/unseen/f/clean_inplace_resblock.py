"""CORRECT. In-place operations that are fine: ReLU(inplace) directly after BatchNorm (whose backward does not need its output) and
out += identity where out is a BatchNorm output; masking of a fresh clone. Gradients are the same as out of place.
THREAD: https://github.com/pytorch/vision/issues/807 "Why in-place operation for ReLU is used in models"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv1d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm1d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv1d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm1d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv1d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm1d(planes))

    def forward(self, x):
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out


class Net(nn.Module):
    def __init__(self, n_class=4):
        super(Net, self).__init__()
        self.layer1 = BasicBlock(2, 16)
        self.layer2 = BasicBlock(16, 24, stride=2)
        self.fc = nn.Linear(24, n_class)

    def forward(self, x, valid):
        x = self.layer2(self.layer1(x))
        v = valid[:, ::2].unsqueeze(1)
        pooled = x.clone()
        pooled.masked_fill_(~v, 0.)
        pooled = pooled.sum(2).div_(v.sum(2).clamp_(min=1))
        return self.fc(pooled)


def series(n=64, T=32):
    y = torch.randint(0, 4, (n,))
    t = torch.arange(T)
    f = torch.tensor([.3, .6, .9, 1.3])[y].unsqueeze(1)
    x = torch.stack([torch.sin(f * t), torch.cos(f * t)], 1) + 0.8 * torch.randn(n, 2, T)
    length = torch.randint(12, T + 1, (n, 1))
    valid = t < length
    x *= valid.unsqueeze(1)
    return x, valid, y


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    stat = torch.zeros(2)
    for it in range(1, 241):
        x, valid, y = series()
        out = net(x, valid)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stat[0] += loss.detach()
        stat[1] += (out.argmax(1) == y).float().mean()
        if it % 40 == 0:
            print('iter', it, 'loss %.4f acc %.3f' % tuple((stat / 40).tolist()))
            stat.zero_()


main()
