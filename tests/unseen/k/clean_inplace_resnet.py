"""RIGHT. A residual net that writes in place wherever it may: ReLU(inplace=True), out += identity, masked fill of logits.
TRUTH: the overwritten tensors are outputs of batch norm or of an addition, which no backward needs again (relu keeps its own
result, which nobody overwrites later); the weights are clipped under no_grad after the step; the frozen stem stays in eval.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Net(nn.Module):
    def __init__(self, c=8, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(Block(c), Block(c))
        self.fc = nn.Linear(c, classes)
        for p in self.stem.parameters():
            p.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.stem.eval()
        return self

    def forward(self, x, allowed):
        x = self.blocks(self.stem(x))
        logits = self.fc(x.mean((2, 3)))
        logits[~allowed] = -1e4
        return logits


def clip_rows(linear, max_norm):
    with torch.no_grad():
        norm = linear.weight.norm(dim=1, keepdim=True)
        linear.weight.mul_((max_norm / norm).clamp(max=1.0))


def make_data(n):
    """five stripe patterns, one of the five classes is excluded for every sample"""
    y = torch.randint(0, 5, (n,))
    g = torch.arange(10)
    r, c = torch.meshgrid(g, g, indexing='ij')
    base = torch.stack([r % 2, c % 2, (r + c) % 2, (r // 2) % 2, (c // 2) % 2]).float()
    x = (base[y] + 0.3 * torch.randn(n, 10, 10)).unsqueeze(1)
    allowed = torch.ones(n, 5, dtype=torch.bool)
    other = (y + torch.randint(1, 5, (n,))) % 5
    allowed[torch.arange(n), other] = False
    return x, allowed, y


def main():
    x, allowed, y = make_data(256)
    xv, av, yv = make_data(100)
    net = Net()
    trainable = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=48)
    for epoch in range(6):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(net(x[idx], allowed[idx]), y[idx])
            loss.backward()
            optimizer.step()
            scheduler.step()
            clip_rows(net.fc, 3.0)
            total += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            acc = (net(xv, av).argmax(1) == yv).float().mean().item()
        print('epoch %d loss %.3f acc %.3f' % (epoch, total / len(x), acc))


if __name__ == '__main__':
    main()
