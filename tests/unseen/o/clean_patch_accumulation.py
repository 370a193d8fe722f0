"""Segmentation of large tiles with small memory: the tile is cut in crops, one update per tile.

TRUTH: correct: backward is called once per crop and zero_grad only once per tile on purpose; every crop's loss is the SUM of
its valid pixels divided by the number of valid pixels of the whole tile, so the accumulated gradient is exactly that of the
tile's mean loss (checked at the end against one pass over the whole tile, crops overlap in nothing, the net has no batch norm).
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TILE = 48
CROP = 16
IGNORE = 255
TILES = 24
EPOCHS = 6


def make_tiles(n, seed):
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[0:TILE, 0:TILE]
    images, masks = [], []
    for _ in range(n):
        img = rng.normal(0, 0.5, (TILE, TILE))
        mask = np.zeros((TILE, TILE), dtype=np.int64)
        for _ in range(rng.randint(3, 7)):
            cy, cx, r = rng.uniform(0, TILE, 2).tolist() + [rng.uniform(3, 8)]
            disk = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            kind = rng.randint(1, 3)
            img[disk] = rng.normal(1.5 if kind == 1 else -1.5, 0.5, disk.sum())
            mask[disk] = kind
        mask[:, : rng.randint(0, TILE // 2)] = IGNORE
        images.append(img)
        masks.append(mask)
    x = torch.tensor(np.array(images), dtype=torch.float32).unsqueeze(1)
    return x, torch.tensor(np.array(masks))


class PointwiseContextNet(nn.Module):
    """context only inside non-overlapping 4x4 patches, so that crops do not depend on each other"""

    def __init__(self, classes=3, width=32, patch=4):
        super().__init__()
        self.patch = patch
        self.embed = nn.Conv2d(1, width, patch, stride=patch)
        self.mix = nn.Sequential(nn.GELU(), nn.Conv2d(width, width, 1), nn.GELU())
        self.pixel = nn.Conv2d(1, width, 1)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        context = self.mix(self.embed(x)).repeat_interleave(self.patch, 2).repeat_interleave(self.patch, 3)
        return self.head(F.gelu(self.pixel(x) + context))


def crops(image, mask):
    for i in range(0, TILE, CROP):
        for j in range(0, TILE, CROP):
            yield image[:, :, i:i + CROP, j:j + CROP], mask[:, i:i + CROP, j:j + CROP]


def accumulate(model, image, mask):
    n_valid = (mask != IGNORE).sum()
    total = 0.0
    for img, msk in crops(image, mask):
        if (msk == IGNORE).all():
            continue
        loss = F.cross_entropy(model(img), msk, ignore_index=IGNORE, reduction="sum") / n_valid
        loss.backward()
        total += loss.item()
    return total


def pixel_accuracy(model, images, masks):
    with torch.no_grad():
        pred = model(images).argmax(1)
    valid = masks != IGNORE
    return (pred[valid] == masks[valid]).float().mean().item()


def gradient_gap(model, image, mask):
    model.zero_grad()
    accumulate(model, image, mask)
    parts = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.cross_entropy(model(image), mask, ignore_index=IGNORE).backward()
    return max((a - p.grad).abs().max().item() for a, p in zip(parts, model.parameters()))


def main():
    torch.manual_seed(0)
    images, masks = make_tiles(TILES, 1)
    val_images, val_masks = make_tiles(8, 2)
    model = PointwiseContextNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=1e-4)
    optimizer.zero_grad()
    for epoch in range(1, EPOCHS + 1):
        running = 0.0
        for k in torch.randperm(TILES).tolist():
            running += accumulate(model, images[k:k + 1], masks[k:k + 1])
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
        print("epoch %d  loss %.4f  val accuracy %.3f"
              % (epoch, running / TILES, pixel_accuracy(model, val_images, val_masks)))
    print("largest gradient difference to the whole tile: %.2e" % gradient_gap(model, images[:1], masks[:1]))


if __name__ == "__main__":
    main()
