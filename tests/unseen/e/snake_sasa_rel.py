"""leaderj1001/Stand-Alone-Self-Attention#2, "rel_w and rel_h parameters"
Symptom: the relative position parameters are not learned, their values are different in every forward pass.
EXPECT: runs
TRUTH: the nn.Parameter for the relative positions is created anew in forward(), so it is random noise and not known to the optimizer; create it once in __init__.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(24)
torch.set_num_threads(1)


def make_images(n, size=10):
    x = 0.3 * torch.randn(n, 1, size, size)
    y = torch.randint(0, 4, (n,))
    shift = [(0, 1), (0, -1), (1, 0), (-1, 0)]
    for i in range(n):
        for _ in range(3):
            r, c = torch.randint(1, size - 1, (2,)).tolist()
            dr, dc = shift[y[i]]
            x[i, 0, r, c] = 2.0
            x[i, 0, r + dr, c + dc] = -2.0
    return TensorDataset(x, y)


class AttentionConv(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3, padding=1):
        super().__init__()
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.padding = padding
        self.query = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.key = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.value = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def windows(self, x):
        x = F.pad(x, [self.padding] * 4)
        x = x.unfold(2, self.kernel_size, 1).unfold(3, self.kernel_size, 1)
        return x.contiguous().flatten(4)

    def forward(self, x):
        q = self.query(x).unsqueeze(-1)
        k = self.windows(self.key(x))
        v = self.windows(self.value(x))
        self.rel = nn.Parameter(torch.randn(self.out_channels, 1, 1, self.kernel_size ** 2))  # CULPRIT
        attention = F.softmax(q * (k + self.rel), dim=-1)
        return (attention * v).sum(-1)


class Model(nn.Module):
    def __init__(self, ch=12, num_classes=4):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 1)
        self.attn1 = AttentionConv(ch, ch)
        self.bn = nn.BatchNorm2d(ch)
        self.fc = nn.Linear(ch, num_classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.bn(self.attn1(x)))
        return self.fc(x.mean(dim=(2, 3)))


def evaluate(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


def main():
    train_loader = DataLoader(make_images(500), batch_size=40, shuffle=True)
    test_loader = DataLoader(make_images(300), batch_size=100)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(12):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print("epoch %d loss %.4f test acc %.3f" % (epoch, total / len(train_loader), evaluate(model, test_loader)))


if __name__ == "__main__":
    main()
