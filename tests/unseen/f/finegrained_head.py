"""What the user sees: the model returns different results at test time for the same image although net.eval() was
called; the accuracy changes with each run of the test.

TRUTH: the dropout is built inside forward (nn.Dropout(p=0.5)(x)); a fresh module is always in training mode, net.eval()
does not reach it. Fix: define self.drop in __init__ or use F.dropout(x, p=0.5, training=self.training).
THREAD: https://github.com/yangze0930/NTS-Net/issues/14 "dropout in resnet.py"
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False),
                                            nn.BatchNorm2d(planes))

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_classes=5):
        super(ResNet, self).__init__()
        self.layer1 = BasicBlock(3, 8)
        self.layer2 = BasicBlock(8, 16, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.layer1(x)
        feature1 = self.layer2(x)
        x = self.avgpool(feature1)
        x = x.view(x.size(0), -1)
        x = nn.Dropout(p=0.5)(x)  # CULPRIT
        feature2 = x
        x = self.fc(x)
        return x, feature1, feature2


def birds(n, gen):
    y = torch.randint(0, 5, (n,), generator=gen)
    base = torch.randn(5, 3, 8, 8, generator=torch.Generator().manual_seed(7)) * 0.45
    return base[y] + 0.6 * torch.randn(n, 3, 8, 8, generator=gen), y


def test(net, loader):
    net.eval()
    correct = total = 0
    for img, label in loader:
        with torch.no_grad():
            logits, _, _ = net(img)
        correct += (logits.argmax(1) == label).sum().item()
        total += len(label)
    return correct / total


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    trainloader = DataLoader(TensorDataset(*birds(800, gen)), batch_size=40, shuffle=True)
    testloader = DataLoader(TensorDataset(*birds(300, gen)), batch_size=100)
    net = ResNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        net.train()
        for img, label in trainloader:
            optimizer.zero_grad()
            logits, _, _ = net(img)
            loss = criterion(logits, label)
            loss.backward()
            optimizer.step()
        print('epoch', epoch, 'loss %.3f' % loss.item(), 'test accuracy, three runs:',
              ' '.join('%.3f' % test(net, testloader) for _ in range(3)))


if __name__ == '__main__':
    main()
