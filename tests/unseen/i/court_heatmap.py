"""WRONG. The heatmap net for court points behaves strangely: the loss oscillates and grows instead of settling, the longer it trains the worse.
TRUTH: the train function of base_trainer never calls optimizer.zero_grad(), so every step uses the sum of all gradients so far; call it before loss.backward().
THREAD: https://github.com/yastrebksv/TennisCourtDetector/issues/7
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvBlock(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3, pad=1):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size, padding=pad),
            nn.ReLU(),
            nn.BatchNorm2d(out_channels))

    def forward(self, x):
        return self.block(x)


class BallTrackerNet(nn.Module):
    def __init__(self, input_channels=1, out_channels=2):
        super().__init__()
        self.conv1 = ConvBlock(input_channels, 8)
        self.conv2 = ConvBlock(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.conv3 = ConvBlock(16, 16)
        self.ups = nn.Upsample(scale_factor=2)
        self.conv4 = nn.Conv2d(16, out_channels, 3, padding=1)

    def forward(self, x):
        x = self.pool(self.conv2(self.conv1(x)))
        x = self.ups(self.conv3(x))
        return self.conv4(x)


def draw_court(n, size=16):
    grid = torch.arange(size).float()
    imgs, hmaps = torch.zeros(n, 1, size, size), torch.zeros(n, 2, size, size)
    pts = torch.randint(3, size - 3, (n, 2, 2)).float()
    for k in range(2):
        d = (grid.view(1, size, 1) - pts[:, k, 0].view(-1, 1, 1)) ** 2 + \
            (grid.view(1, 1, size) - pts[:, k, 1].view(-1, 1, 1)) ** 2
        hmaps[:, k] = torch.exp(-d / 4)
        imgs[:, 0] += (1 if k == 0 else -1) * (d < 3).float()
    return imgs + 0.1 * torch.randn_like(imgs), hmaps


def train(model, train_loader, optimizer, criterion, epoch):
    model.train()
    losses = []
    for iter_id, batch in enumerate(train_loader):
        imgs, gt = batch
        out = model(imgs)
        loss = criterion(F.sigmoid(out), gt)

        loss.backward()  # CULPRIT
        optimizer.step()
        losses.append(loss.item())
    print('train, epoch = {}, loss = {:.5f}, max = {:.5f}'.format(epoch, sum(losses) / len(losses), max(losses)))
    return sum(losses) / len(losses)


def val(model, val_loader, criterion):
    model.eval()
    with torch.no_grad():
        losses = [criterion(F.sigmoid(model(imgs)), gt).item() for imgs, gt in val_loader]
    return sum(losses) / len(losses)


if __name__ == '__main__':
    data = [draw_court(16) for _ in range(20)]
    val_data = [draw_court(16) for _ in range(4)]
    model = BallTrackerNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for epoch in range(10):
        train(model, data, optimizer, criterion, epoch)
        if epoch % 5 == 4:
            print('val_loss = {:.5f}'.format(val(model, val_data, criterion)))
