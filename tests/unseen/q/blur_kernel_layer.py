"""Recovers the blur of a camera: a convolution whose kernel is a rotated Gaussian with three learnable shape numbers.

TRUTH: GaussianConv.forward computes the kernel from log_sigma and angle and then stores it as self.conv.weight =
nn.Parameter(kernel). nn.Parameter makes a new leaf and ignores the history of the computation, so the gradient ends at this
throw-away weight: log_sigma and angle keep grad None and never change, the blur estimate stays at its start. Fix: apply the
kernel functionally, F.conv2d(x, kernel, padding=...). Drawn from
https://discuss.pytorch.org/t/what-is-the-most-convenient-way-to-make-model-weights-dependent-on-some-parameter/47645.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def gaussian_kernel(log_sigma, angle, size):
    r = torch.arange(size, dtype=torch.float32) - size // 2
    yy, xx = torch.meshgrid(r, r, indexing="ij")
    c, s = torch.cos(angle), torch.sin(angle)
    u, v = c * xx + s * yy, -s * xx + c * yy
    sigma = log_sigma.exp()
    k = torch.exp(-0.5 * ((u / sigma[0]) ** 2 + (v / sigma[1]) ** 2))
    return (k / k.sum())[None, None]


class GaussianConv(nn.Module):
    def __init__(self, size=9):
        super().__init__()
        self.size = size
        self.log_sigma = nn.Parameter(torch.tensor([0.3, 0.0]))
        self.angle = nn.Parameter(torch.tensor(0.1))
        self.conv = nn.Conv2d(1, 1, size, padding=size // 2, bias=False)

    def forward(self, x):
        kernel = gaussian_kernel(self.log_sigma, self.angle, self.size)
        self.conv.weight = nn.Parameter(kernel)  # CULPRIT
        return self.conv(x)


class CameraModel(nn.Module):
    """blur, then a global exposure and an offset of the black level"""

    def __init__(self):
        super().__init__()
        self.blur = GaussianConv()
        self.exposure = nn.Parameter(torch.tensor(1.0))
        self.black = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return self.exposure * self.blur(x) + self.black

    def describe(self):
        s = self.blur.log_sigma.exp().tolist()
        return (f"sigma ({s[0]:.2f}, {s[1]:.2f}) angle {math.degrees(self.blur.angle.item()):.1f} deg "
                f"exposure {self.exposure.item():.2f} black {self.black.item():.2f}")


def charts(n, g, size=28):
    x = (torch.rand(n, 1, size // 4, size // 4, generator=g) < 0.4).float()
    return F.interpolate(x, scale_factor=4, mode="nearest")


def photograph(x, g):
    kernel = gaussian_kernel(torch.tensor([2.0, 0.7]).log(), torch.tensor(math.radians(40.0)), 9)
    y = 0.8 * F.conv2d(x, kernel, padding=4) + 0.1
    return y + 0.01 * torch.randn(y.shape, generator=g)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.03)
    args = p.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(21)
    x = charts(96, g)
    y = photograph(x, g)
    x_test = charts(32, g)
    y_test = photograph(x_test, g)

    model = CameraModel()
    optimizer = torch.optim.Adam([w for name, w in model.named_parameters() if "conv" not in name], lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=3)
    print("start:", model.describe())
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            loss = F.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            test = F.mse_loss(model(x_test), y_test).item()
        scheduler.step(test)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}  train {total / len(x):.5f}  test {test:.5f}  {model.describe()}")
    print("camera: sigma (2.00, 0.70) angle 40.0 deg exposure 0.80 black 0.10")


if __name__ == "__main__":
    main()
