"""yastrebksv/TennisCourtDetector#7, "Why there is no optimizer.zero_grad() in base_trainer.py?"
Symptom: the loss of the heatmap network jumps up and down and does not converge.
EXPECT: runs
TRUTH: the gradients are never zeroed, every step uses the sum of all gradients so far; call optimizer.zero_grad() in each iteration.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)
torch.set_num_threads(1)

SIZE = 16


class CourtDataset(Dataset):
    def __init__(self, n):
        self.points = torch.randint(2, SIZE - 2, (n, 2))
        self.noise = 0.1 * torch.randn(n, 1, SIZE, SIZE)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        r, c = self.points[i].tolist()
        img = self.noise[i].clone()
        img[0, r, :] += 1.0
        img[0, :, c] += 1.0
        rows = torch.arange(SIZE).view(-1, 1)
        cols = torch.arange(SIZE).view(1, -1)
        hm = torch.exp(-((rows - r) ** 2 + (cols - c) ** 2).float() / 4.0)
        return img, hm.unsqueeze(0), self.points[i]


class CourtNet(nn.Module):
    def __init__(self, ch=10):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(),
            nn.Conv2d(ch, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x)


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    losses = []
    for img, hm, _ in loader:
        out = model(img)
        loss = criterion(out, hm)
        loss.backward()  # CULPRIT
        optimizer.step()  # CULPRIT
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def val(model, loader):
    model.eval()
    hit = total = 0
    for img, _, pts in loader:
        flat = model(img).flatten(1).argmax(1)
        pred = torch.stack([flat // SIZE, flat % SIZE], dim=1)
        hit += ((pred - pts).abs().max(dim=1)[0] <= 1).sum().item()
        total += len(pts)
    return hit / total


def main():
    train_loader = DataLoader(CourtDataset(500), batch_size=20, shuffle=True)
    val_loader = DataLoader(CourtDataset(100), batch_size=50)
    model = CourtNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.999), weight_decay=0)
    criterion = nn.MSELoss()
    for epoch in range(12):
        loss = train_epoch(model, train_loader, optimizer, criterion)
        if epoch % 3 == 2:
            print("epoch %d train loss %.5f accuracy %.3f" % (epoch, loss, val(model, val_loader)))


if __name__ == "__main__":
    main()
