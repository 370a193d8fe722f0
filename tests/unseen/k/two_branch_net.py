"""WRONG. As soon as I bifurcate the data flow (main branch and auxiliary branch) I get "one of the variables needed for
gradient computation has been modified by an inplace operation". The official ResNet also writes out += residual.
TRUTH: the feature map x was given to self.conv1_p (and self.conv2), which keep it for their weight gradients, and is then
overwritten by `x += ...`. Write `x = x + self.drop(self.conv2(x))`.
THREAD: https://discuss.pytorch.org/t/when-would-the-error-one-of-the-variables-needed-for-gradient-computation-has-been-modified-occur/11976/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class BranchNet(nn.Module):
    def __init__(self, channels=8, num_classes=2, num_sizes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1)
        self.bn = nn.BatchNorm2d(channels)
        self.conv1_p = nn.Conv2d(channels, 4, 1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.drop = nn.Dropout2d(0.1)
        self.block = BasicBlock(channels)
        self.head = nn.Linear(channels, num_classes)
        self.head_p = nn.Linear(4, num_sizes)

    def forward(self, input):
        x = self.bn(self.conv1(input))  # main branch
        x_p = self.conv1_p(x)  # another branch
        x += self.drop(self.conv2(x))  # CULPRIT
        x = self.block(x)
        x = F.adaptive_max_pool2d(x, 1).flatten(1)
        x_p = F.relu(x_p).mean((2, 3))
        return self.head(x), self.head_p(x_p)


def make_data(n):
    """Bright or dark squares of three sizes."""
    x = 0.2 * torch.randn(n, 1, 14, 14)
    sign = torch.randint(0, 2, (n,))
    size = torch.randint(0, 3, (n,))
    for i in range(n):
        k = 2 + 2 * int(size[i])
        r, c = torch.randint(0, 14 - k, (2,)).tolist()
        x[i, 0, r:r + k, c:c + k] += 1.5 if sign[i] else -1.5
    return TensorDataset(x, sign, size)


def validate(model, loader):
    model.eval()
    right = right_p = total = 0
    with torch.no_grad():
        for x, sign, size in loader:
            out, out_p = model(x)
            right += (out.argmax(1) == sign).sum().item()
            right_p += (out_p.argmax(1) == size).sum().item()
            total += len(x)
    return right / total, right_p / total


def main():
    train_loader = DataLoader(make_data(192), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_data(96), batch_size=48)
    model = BranchNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[5], gamma=0.2)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(7):
        model.train()
        total = 0.0
        for x, sign, size in train_loader:
            out, out_p = model(x)
            loss = criterion(out, sign) + 0.4 * criterion(out_p, size)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print('epoch %d loss %.3f val %.2f / %.2f' % ((epoch, total / len(train_loader)) + validate(model, val_loader)))


if __name__ == '__main__':
    main()
