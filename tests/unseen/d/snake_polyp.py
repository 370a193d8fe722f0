"""avBuffer/UNet3plus_pth#23
Symptom: BCE loss does not decrease (it hangs around 0.6-0.7) and the predicted masks are completely white.
EXPECT: runs
TRUTH: the network applies sigmoid although BCEWithLogitsLoss applies it again; return d1 without the sigmoid.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BlobDataset(Dataset):
    def __init__(self, n, size=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        cx = torch.randint(6, size - 6, (n,), generator=g)
        cy = torch.randint(6, size - 6, (n,), generator=g)
        r = torch.randint(2, 6, (n,), generator=g)
        dist = (xx[None] - cx[:, None, None]) ** 2 + (yy[None] - cy[:, None, None]) ** 2
        self.masks = (dist <= (r ** 2)[:, None, None]).float().unsqueeze(1)
        noise = torch.randn(n, 1, size, size, generator=g)
        self.imgs = self.masks + 0.5 * noise

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        return {"image": self.imgs[i], "mask": self.masks[i]}


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=1):
        super().__init__()
        self.conv1 = double_conv(n_channels, 8)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = double_conv(8, 16)
        self.up1 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv3 = double_conv(16, 8)
        self.outconv1 = nn.Conv2d(8, n_classes, 3, padding=1)

    def forward(self, inputs):
        h1 = self.conv1(inputs)
        h2 = self.conv2(self.pool(h1))
        d = self.conv3(torch.cat([h1, self.up1(h2)], dim=1))
        d1 = self.outconv1(d)
        return torch.sigmoid(d1)  # CULPRIT


def dice_coeff(pred, target, eps=1e-6):
    inter = (pred * target).sum()
    return (2 * inter + eps) / (pred.sum() + target.sum() + eps)


def eval_net(net, loader):
    net.eval()
    tot = 0
    with torch.no_grad():
        for batch in loader:
            mask_pred = net(batch["image"])
            pred = (torch.sigmoid(mask_pred) > 0.5).float()
            tot += dice_coeff(pred, batch["mask"]).item()
    net.train()
    return tot / len(loader)


def train_net(net, epochs=6, batch_size=16, lr=3e-3):
    train_loader = DataLoader(BlobDataset(160, seed=1), batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(BlobDataset(48, seed=2), batch_size=batch_size)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.5)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for batch in train_loader:
            masks_pred = net(batch["image"])
            loss = criterion(masks_pred, batch["mask"])
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            optimizer.step()
        print(f"Epoch {epoch + 1}: loss {epoch_loss / len(train_loader):.4f}  val dice {eval_net(net, val_loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train_net(UNet(n_channels=1, n_classes=1))
