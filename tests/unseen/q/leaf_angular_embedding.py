"""Learns two-dimensional leaf-shape embeddings with an additive angular margin, to draw the species on a circle.

TRUTH: AngularMarginHead takes sine = sqrt((1 - cos^2).clamp(0, 1)). In two dimensions a well fitted embedding soon points exactly
along its class weight, cos^2 rounds to 1, and the square root's derivative at 0 is infinite: inf times the zero of the chain
(or inf itself) makes the gradients nan, from one step to the next all weights are nan. Fix: keep the root away from 0, e.g.
clamp(1e-6, 1). Drawn from https://github.com/ronghuaiyang/arcface-pytorch/issues/91.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES = ["oak", "maple", "birch", "ginkgo", "willow"]


def draw_leaves(n, g, points=36):
    """radius of the outline for equally spaced angles"""
    y = torch.randint(0, len(SPECIES), (n,), generator=g)
    phi = torch.linspace(0, 2 * math.pi, points + 1)[:-1]
    lobes = torch.tensor([7.0, 5.0, 2.0, 1.0, 2.0])[y][:, None]
    depth = torch.tensor([0.15, 0.45, 0.2, 0.5, 0.7])[y][:, None]
    outline = 1 + depth * torch.cos(lobes * phi) * (0.9 + 0.2 * torch.rand(n, 1, generator=g))
    return outline + 0.03 * torch.randn(n, points, generator=g), y


class LeafEncoder(nn.Module):
    def __init__(self, points=36, width=64, dim=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(points, width), nn.BatchNorm1d(width), nn.PReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.PReLU(),
            nn.Linear(width, dim))

    def forward(self, x):
        return self.net(x)


class AngularMarginHead(nn.Module):
    def __init__(self, dim, classes, scale=16.0, margin=0.15):
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(classes, dim))
        nn.init.xavier_uniform_(self.weight)
        self.cos_m, self.sin_m = math.cos(margin), math.sin(margin)
        self.limit = math.cos(math.pi - margin)
        self.slope = math.sin(math.pi - margin) * margin

    def logits(self, z):
        return self.scale * F.linear(F.normalize(z), F.normalize(self.weight))

    def forward(self, z, label):
        cosine = F.linear(F.normalize(z), F.normalize(self.weight))
        sine = (1.0 - cosine * cosine).clamp(0, 1).sqrt()  # CULPRIT
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine > self.limit, phi, cosine - self.slope)
        hot = F.one_hot(label, len(self.weight)).to(phi.dtype)
        return self.scale * (hot * phi + (1 - hot) * cosine)


def accuracy(encoder, head, x, y):
    encoder.eval()
    with torch.no_grad():
        acc = (head.logits(encoder(x)).argmax(1) == y).float().mean().item()
    encoder.train()
    return acc


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch", type=int, default=50)
    p.add_argument("--lr", type=float, default=0.02)
    args = p.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    x, y = draw_leaves(1000, g)
    x_val, y_val = draw_leaves(400, g)

    encoder, head = LeafEncoder(), AngularMarginHead(2, len(SPECIES))
    params = list(encoder.parameters()) + list(head.parameters())
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 15, 0.3)
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            loss = F.cross_entropy(head(encoder(x[idx]), y[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        scheduler.step()
        if epoch < 5 or epoch % 5 == 4:
            print(f"epoch {epoch + 1:2d}  loss {total / len(x):.4f}  val accuracy "
                  f"{accuracy(encoder, head, x_val, y_val):.3f}")
    angles = torch.atan2(head.weight[:, 1], head.weight[:, 0]).detach() * 180 / math.pi
    print({s: round(a.item(), 1) for s, a in zip(SPECIES, angles)})


if __name__ == "__main__":
    main()
