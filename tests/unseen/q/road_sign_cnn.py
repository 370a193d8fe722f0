"""Tells apart four road-sign shapes in small noisy images with an all-convolutional network.

TRUTH: ShapeNet.forward calls F.dropout2d(out, 0.5, training=True), so the dropout is active in evaluation as well: net.eval() does
not reach it, two evaluations of the same images differ and the validation accuracy is far below what the net could do. Fix:
training=self.training (or an nn.Dropout2d module made in __init__). Drawn from https://github.com/Coderx7/SimpleNet/issues/2.
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SHAPES = ("disc", "triangle", "diamond", "square")


def render(n, g, size=20):
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    labels = torch.randint(0, len(SHAPES), (n,), generator=g)
    images = torch.empty(n, 1, size, size)
    for i, label in enumerate(labels.tolist()):
        cx, cy = size / 2 + 3 * (torch.rand(2, generator=g) - 0.5)
        r = 5 + 2 * torch.rand(1, generator=g)
        dx, dy = (xx - cx).abs(), yy - cy
        if label == 0:
            shape = dx ** 2 + dy ** 2 < r ** 2
        elif label == 1:
            shape = (dy < 0.7 * r) & (dy > 1.7 * dx - r)
        elif label == 2:
            shape = dx + dy.abs() < 1.2 * r
        else:
            shape = torch.maximum(dx, dy.abs()) < 0.85 * r
        images[i, 0] = shape.float()
    return images + 0.45 * torch.randn(images.shape, generator=g), labels


class ShapeNet(nn.Module):
    def __init__(self, classes=len(SHAPES), ch=10):
        super().__init__()
        self.features = nn.Sequential(
            self.unit(1, ch), self.unit(ch, ch), nn.MaxPool2d(2),
            self.unit(ch, 2 * ch), self.unit(2 * ch, 2 * ch))
        self.classifier = nn.Linear(2 * ch, classes)

    @staticmethod
    def unit(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())

    def forward(self, x):
        out = self.features(x)
        out = F.max_pool2d(out, kernel_size=out.shape[2:])
        out = F.dropout2d(out, 0.5, training=True)  # CULPRIT
        return self.classifier(out.flatten(1))


@torch.no_grad()
def evaluate(net, images, labels, batch=100):
    net.eval()
    hits, loss = 0, 0.0
    for x, y in zip(images.split(batch), labels.split(batch)):
        out = net(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
    net.train()
    return loss / len(images), hits / len(images)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=50)
    p.add_argument("--lr", type=float, default=0.01)
    args = p.parse_args()
    torch.manual_seed(8)
    g = torch.Generator().manual_seed(8)
    x, y = render(600, g)
    x_val, y_val = render(300, g)
    net = ShapeNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, epochs=args.epochs,
                                                    steps_per_epoch=len(x) // args.batch)
    start = time.time()
    for epoch in range(args.epochs):
        running = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(idx)
        v_loss, v_acc = evaluate(net, x_val, y_val)
        print(f"epoch {epoch + 1:2d}  train {running / len(x):.4f}  val {v_loss:.4f}  acc {v_acc:.3f}  "
              f"({time.time() - start:.1f}s)")
    for k in range(3):
        print(f"final check {k + 1}: val loss {evaluate(net, x_val, y_val)[0]:.4f}, "
              f"accuracy {evaluate(net, x_val, y_val)[1]:.3f}")


if __name__ == "__main__":
    main()
