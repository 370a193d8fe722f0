"""WRONG. A question whether the softmax of the SK attention runs over the wrong dimension: the weights of the branches do not add up to one for a sample.
TRUTH: the stacked weights have the layout [branch, batch, channel, 1, 1], so Softmax(dim=1) normalises over the samples of the batch; it must be dim=0 (the branches).
THREAD: https://github.com/xmu-xiaoma666/External-Attention-pytorch/issues/18
"""
from collections import OrderedDict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SKAttention(nn.Module):

    def __init__(self, channel=16, kernels=(1, 3, 5), reduction=4, group=1, L=8):
        super().__init__()
        self.d = max(L, channel // reduction)
        self.convs = nn.ModuleList([])
        for k in kernels:
            self.convs.append(
                nn.Sequential(OrderedDict([
                    ('conv', nn.Conv2d(channel, channel, kernel_size=k, padding=k // 2, groups=group)),
                    ('bn', nn.BatchNorm2d(channel)),
                    ('relu', nn.ReLU())
                ]))
            )
        self.fc = nn.Linear(channel, self.d)
        self.fcs = nn.ModuleList([])
        for _ in range(len(kernels)):
            self.fcs.append(nn.Linear(self.d, channel))
        self.softmax = nn.Softmax(dim=1)  # CULPRIT

    def forward(self, x):
        bs, c, _, _ = x.size()
        conv_outs = []
        # split
        for conv in self.convs:
            conv_outs.append(conv(x))
        feats = torch.stack(conv_outs, 0)

        # fuse
        U = sum(conv_outs)

        # reduction channel
        S = U.mean(-1).mean(-1)
        Z = self.fc(S)

        # attention weights
        weights = []
        for fc in self.fcs:
            weight = fc(Z)
            weights.append(weight.view(bs, c, 1, 1))
        attention_weughts = torch.stack(weights, 0)
        attention_weughts = self.softmax(attention_weughts)

        V = (attention_weughts * feats).sum(0)
        return V


class SKNet(nn.Module):
    def __init__(self, n_classes, channel=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, channel, 3, padding=1, bias=False), nn.BatchNorm2d(channel), nn.ReLU())
        self.sk = SKAttention(channel)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channel, n_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out')
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.sk(x)
        return self.head(self.pool(x).flatten(1))


def gratings(n, generator):
    """Three classes of textures which differ in their scale."""
    y = torch.randint(0, 3, (n,), generator=generator)
    period = torch.tensor([2.5, 4.0, 7.0])[y].view(-1, 1, 1)
    phase = 6.28 * torch.rand(n, 1, 1, generator=generator)
    angle = 3.14 * torch.rand(n, 1, 1, generator=generator)
    rows = torch.arange(14).float().view(1, -1, 1)
    cols = torch.arange(14).float().view(1, 1, -1)
    wave = torch.sin(6.28 / period * (rows * angle.cos() + cols * angle.sin()) + phase)
    return (wave + 0.5 * torch.randn(n, 14, 14, generator=generator)).unsqueeze(1), y


def run(epochs=6):
    g = torch.Generator().manual_seed(3)
    train_set, test_set = TensorDataset(*gratings(480, g)), TensorDataset(*gratings(120, g))
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    net = SKNet(3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=epochs * len(loader))
    for epoch in range(epochs):
        net.train()
        running = 0.0
        for images, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(net(images), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item()
        net.eval()
        with torch.no_grad():
            accs = []
            for bs in (1, 40):
                hit = 0
                for images, labels in DataLoader(test_set, batch_size=bs):
                    hit += (net(images).argmax(1) == labels).sum().item()
                accs.append(hit / len(test_set))
        print('epoch %d loss %.3f test acc (batch of 1) %.3f (batch of 40) %.3f' % (epoch, running / len(loader), *accs))


if __name__ == '__main__':
    torch.manual_seed(3)
    run()
