"""Segments bright round nuclei in noisy microscope images with a small fully convolutional net and a soft Dice loss.

TRUTH: DiceLoss passes its prediction through _binarize, which compares with the threshold and then switches
requires_grad on for the result. The comparison has no gradient and the 0/1 tensor is a new leaf that has nothing to do with the
network: backward() runs without complaint, fills the gradient of that leaf, and all parameters keep grad None. The loss
moves only with the batch, the net stays at its start. Fix: use no threshold in the loss (threshold=None), only in the metric.
Drawn from https://github.com/qubvel-org/segmentation_models.pytorch/pull/611.
"""
import argparse

import torch
import torch.nn as nn


def make_slides(n, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(int(torch.randint(2, 5, (1,), generator=g))):
            cx, cy = torch.rand(2, generator=g) * (size - 8) + 4
            r = 2.5 + 3 * torch.rand(1, generator=g)
            masks[i, 0][(xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2] = 1
    images = 0.7 * masks + 0.15 * torch.randn(masks.shape, generator=g)
    images += 0.3 * torch.linspace(0, 1, size)[None, None, None]
    return images, masks


class ConvBlock(nn.Sequential):
    def __init__(self, a, b, dilation=1):
        super().__init__(nn.Conv2d(a, b, 3, padding=dilation, dilation=dilation), nn.BatchNorm2d(b), nn.ReLU())


class NucleiNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.stem = ConvBlock(1, ch)
        self.context = nn.Sequential(ConvBlock(ch, ch, 2), ConvBlock(ch, ch, 4))
        self.head = nn.Conv2d(2 * ch, 1, 1)

    def forward(self, x):
        s = self.stem(x)
        return self.head(torch.cat([s, self.context(s)], 1))


def _binarize(x, threshold=None):
    if threshold is not None:
        hard = (x > threshold).float()
        x = hard.requires_grad_()  # CULPRIT
    return x


class DiceLoss(nn.Module):
    def __init__(self, eps=1.0, activation=torch.sigmoid, threshold=None):
        super().__init__()
        self.eps, self.activation, self.threshold = eps, activation, threshold

    def forward(self, logits, target):
        pred = _binarize(self.activation(logits), self.threshold)
        dims = (1, 2, 3)
        inter = (pred * target).sum(dims)
        union = pred.sum(dims) + target.sum(dims)
        return 1 - ((2 * inter + self.eps) / (union + self.eps)).mean()


@torch.no_grad()
def iou(net, images, masks, threshold=0.5):
    net.eval()
    pred = _binarize(torch.sigmoid(net(images)), threshold).bool()
    net.train()
    truth = masks.bool()
    return ((pred & truth).sum() / (pred | truth).sum().clamp(min=1)).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--threshold", type=float, default=0.5)
    args = p.parse_args()

    torch.manual_seed(1)
    images, masks = make_slides(192, seed=1)
    val_images, val_masks = make_slides(48, seed=2)
    net = NucleiNet()
    criterion = DiceLoss(threshold=args.threshold)  # CULPRIT
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)

    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(images)).split(args.batch):
            loss = criterion(net(images[idx]), masks[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        scheduler.step()
        print(f"epoch {epoch + 1}: dice loss {total / len(images):.4f}  val IoU {iou(net, val_images, val_masks):.3f}")


if __name__ == "__main__":
    main()
