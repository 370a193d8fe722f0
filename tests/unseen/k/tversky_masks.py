"""WRONG. Segmentation with Tversky loss: the loss has a plausible value but it is the same in every epoch, the masks never
get better. No warning, no error; the gradients exist.
TRUTH: the prediction is thresholded to 0/1 before it goes to the loss, all entries are overwritten by constants, so every
gradient is exactly zero. Hand the probabilities over: `pred = torch.sigmoid(logits)`; threshold for the metrics only.
THREAD: https://discuss.pytorch.org/t/tresholding-the-prediction-image-to-binary-before-sending-to-loss-function/149092/5
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

cfg = dict(size=24, treshold=0.5, alpha=0.5, beta=0.5, smooth=1.0, lr=1e-2, epochs=8, batch=16)


class Discs(Dataset):
    def __init__(self, n, size):
        grid = torch.arange(size, dtype=torch.float32)
        yy, xx = torch.meshgrid(grid, grid, indexing='ij')
        cy, cx = torch.rand(2, n, 1, 1) * (size - 10) + 5
        r = torch.rand(n, 1, 1) * 3 + 3
        self.masks = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).float().unsqueeze(1)
        self.images = self.masks + 0.4 * torch.randn(n, 1, size, size)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if torch.rand(1) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        return image, mask


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.mid = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        d = self.down(x)
        u = self.up(self.mid(self.pool(d)))
        return self.out(torch.cat([d, u], dim=1))


def binarize(prediction_image, treshold):
    prediction_image = prediction_image.clone()
    prediction_image[prediction_image >= treshold] = 1.0
    prediction_image[prediction_image < treshold] = 0.0
    return prediction_image


class TverskyLoss(nn.Module):
    def __init__(self, alpha, beta, smooth):
        super().__init__()
        self.alpha, self.beta, self.smooth = alpha, beta, smooth

    def forward(self, inputs, targets):
        inputs = inputs.reshape(-1)
        targets = targets.reshape(-1)
        # True Positives, False Positives & False Negatives
        TP = (inputs * targets).sum()
        FP = ((1 - targets) * inputs).sum()
        FN = (targets * (1 - inputs)).sum()
        Tversky = (TP + self.smooth) / (TP + self.alpha * FP + self.beta * FN + self.smooth)
        return 1 - Tversky


def dice_score(pred, mask):
    inter = (pred * mask).sum((1, 2, 3))
    return ((2 * inter + 1e-6) / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1e-6)).mean().item()


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        scores = [dice_score(binarize(torch.sigmoid(model(x)), cfg['treshold']), m) for x, m in loader]
    return sum(scores) / len(scores)


def main():
    train_loader = DataLoader(Discs(96, cfg['size']), batch_size=cfg['batch'], shuffle=True)
    val_loader = DataLoader(Discs(32, cfg['size']), batch_size=cfg['batch'])
    model = SmallUNet()
    loss_function = TverskyLoss(cfg['alpha'], cfg['beta'], cfg['smooth'])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg['lr'])
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'max', factor=0.5, patience=3)

    for epoch in range(cfg['epochs']):
        model.train()
        total = 0.0
        for image, mask in train_loader:
            optimizer.zero_grad()
            logits = model(image)
            pred = binarize(torch.sigmoid(logits), cfg['treshold'])  # CULPRIT
            loss = loss_function(pred, mask)
            loss.backward()
            optimizer.step()
            total += loss.item()
        dice = evaluate(model, val_loader)
        scheduler.step(dice)
        print(f'epoch {epoch}: loss {total / len(train_loader):.4f}  dice {dice:.3f}')


if __name__ == '__main__':
    main()
