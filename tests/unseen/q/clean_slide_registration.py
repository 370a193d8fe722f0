"""Aligns pairs of microscope slides: rotation, zoom and shift of each pair by L-BFGS, coarse to fine, no network.

TRUTH: Right as it stands. The only parameters are the five numbers of a pair; the affine matrix is built from them with torch.stack inside the
closure, which L-BFGS calls several times per step and which zeroes, computes, goes backward and returns the loss. The images
need no gradient. Blurring both images first widens the basin; each pair and level gets a new optimizer, because the curvature
memory of the old objective would be wrong, while the parameters are kept from level to level.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Alignment(nn.Module):
    def __init__(self):
        super().__init__()
        self.angle = nn.Parameter(torch.zeros(()))
        self.log_zoom = nn.Parameter(torch.zeros(()))
        self.shift = nn.Parameter(torch.zeros(2))
        self.gain = nn.Parameter(torch.zeros(()))

    def matrix(self):
        c = torch.cos(self.angle) * self.log_zoom.exp()
        s = torch.sin(self.angle) * self.log_zoom.exp()
        return torch.stack([torch.stack([c, -s, self.shift[0]]), torch.stack([s, c, self.shift[1]])])

    def forward(self, image):
        grid = F.affine_grid(self.matrix()[None], image.shape, align_corners=False)
        warped = F.grid_sample(image, grid, align_corners=False, padding_mode="zeros")
        return self.gain.exp() * warped


def blur(image, sigma):
    if sigma == 0:
        return image
    r = torch.arange(-3 * sigma, 3 * sigma + 1).float()
    k = torch.exp(-0.5 * (r / sigma) ** 2)
    k = k / k.sum()
    image = F.conv2d(image, k[None, None, :, None], padding=(3 * sigma, 0))
    return F.conv2d(image, k[None, None, None, :], padding=(0, 3 * sigma))


def slide(g, size=48):
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    image = torch.zeros(size, size)
    for _ in range(9):
        cx, cy = 1.2 * torch.rand(2, generator=g) - 0.6
        w = 0.06 + 0.08 * torch.rand(1, generator=g)
        image += torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * w ** 2))
    return image[None, None]


def second_slide(image, g):
    true = Alignment()
    with torch.no_grad():
        true.angle.copy_(0.7 * torch.rand((), generator=g) - 0.35)
        true.log_zoom.copy_(0.2 * torch.rand((), generator=g) - 0.1)
        true.shift.copy_(0.3 * torch.rand(2, generator=g) - 0.15)
        true.gain.copy_(torch.tensor(-0.2))
        other = true(image)
    return other + 0.02 * torch.randn(other.shape, generator=g), true


def align(moving, fixed, levels, steps):
    model = Alignment()
    for sigma in levels:
        a, b = blur(moving, sigma), blur(fixed, sigma)
        opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, line_search_fn="strong_wolfe")

        def closure():
            opt.zero_grad()
            loss = F.mse_loss(model(a), b)
            loss.backward()
            return loss

        for _ in range(steps):
            loss = opt.step(closure)
    return model, loss.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", type=int, default=6)
    p.add_argument("--steps", type=int, default=4)
    args = p.parse_args()
    g = torch.Generator().manual_seed(37)
    errors = []
    for k in range(args.pairs):
        moving = slide(g)
        fixed, true = second_slide(moving, g)
        before = F.mse_loss(moving, fixed).item()
        model, after = align(moving, fixed, (6, 3, 1, 0), args.steps)
        with torch.no_grad():
            err = math.degrees((model.angle - true.angle).abs().item())
            shift = (model.shift - true.shift).norm().item()
        errors.append(err)
        print(f"pair {k + 1}: mse {before:.4f} -> {after:.5f}  rotation error {err:.2f} deg  shift error {shift:.4f}")
    print(f"median rotation error {sorted(errors)[len(errors) // 2]:.3f} deg")


if __name__ == "__main__":
    main()
