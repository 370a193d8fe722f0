"""VinhLoiIT/signet-pytorch#2, "Your loss Implementation might be wrong"
Symptom: the loss falls, but genuine pairs end up far apart and forged pairs close together.
EXPECT: runs
TRUTH: genuine pairs carry label 1, but the contrastive loss pulls together the pairs with label 0; swap y and 1 - y.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(17)
torch.set_num_threads(1)


class SignatureDataset(Dataset):
    """(genuine, genuine) -> 1, (genuine, forged) -> 0"""

    def __init__(self, n_pairs, n_writers=8, size=16):
        proto = F.avg_pool2d(torch.randn(n_writers, 1, size, size), 3, 1, 1) * 2
        trick = F.avg_pool2d(torch.randn(n_writers, 1, size, size), 3, 1, 1) * 2
        self.writer = torch.randint(0, n_writers, (n_pairs,))
        self.label = torch.randint(0, 2, (n_pairs,)).float()
        noise = 0.3 * torch.randn(2, n_pairs, 1, size, size)
        self.a = proto[self.writer] + noise[0]
        forged = 0.6 * proto[self.writer] + 0.6 * trick[self.writer]
        genuine = proto[self.writer]
        self.b = torch.where(self.label.view(-1, 1, 1, 1) == 1, genuine, forged) + noise[1]

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.a[i], self.b[i], self.label[i]


class SigNet(nn.Module):
    def __init__(self, embedding=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * 4 * 4, embedding),
        )

    def forward(self, x1, x2):
        return self.features(x1), self.features(x2)


class ContrastiveLoss(nn.Module):
    def __init__(self, alpha, beta, margin):
        super().__init__()
        self.alpha, self.beta, self.margin = alpha, beta, margin

    def forward(self, x1, x2, y):
        distance = F.pairwise_distance(x1, x2)
        loss = self.alpha * (1 - y) * distance ** 2 + self.beta * y * F.relu(self.margin - distance) ** 2  # CULPRIT
        return loss.mean()


def evaluate(model, dataset):
    model.eval()
    with torch.no_grad():
        x1, x2 = model(dataset.a, dataset.b)
        d = F.pairwise_distance(x1, x2)
    same, diff = d[dataset.label == 1], d[dataset.label == 0]
    acc = ((d < 0.5).float() == dataset.label).float().mean()
    model.train()
    return same.mean().item(), diff.mean().item(), acc.item()


def main():
    full = SignatureDataset(900)
    train_set = torch.utils.data.Subset(full, range(700))
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    model = SigNet()
    criterion = ContrastiveLoss(alpha=1, beta=1, margin=1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4, weight_decay=5e-4)
    for epoch in range(6):
        total = 0.0
        for a, b, y in loader:
            optimizer.zero_grad()
            loss = criterion(*model(a, b), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d loss %.4f genuine distance %.3f forged distance %.3f accuracy %.3f"
              % ((epoch, total / len(loader)) + evaluate(model, full)))


if __name__ == "__main__":
    main()
