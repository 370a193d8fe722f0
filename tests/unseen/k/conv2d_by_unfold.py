"""WRONG. My vectorised 2D convolution has the right output shape but its values differ totally from nn.Conv2d with the same
weights, and the small mask network built with it does not learn.
TRUTH: after the two unfolds the layout is (B, C, H, W, k, k); transpose(1, 3) gives (B, W, H, C, k, k), rows and columns
are exchanged. `patches = patches.permute(0, 2, 3, 1, 4, 5)`.
THREAD: https://discuss.pytorch.org/t/pytorch-convolution-2d-result-sanity-check/203270
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MyConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels, kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def extract_patches(self, x):
        K, s, p = self.kernel_size, self.stride, self.padding
        x = F.pad(x, (p, p, p, p))
        patches = x.unfold(2, K, s).unfold(3, K, s)
        patches = patches.transpose(1, 3)  # CULPRIT
        return patches

    def forward(self, x):
        patches = self.extract_patches(x)
        # [B, H, W, 1, C, K, K] * [C_out, C, K, K] --> sum --> [B, H, W, C_out]
        out = torch.mul(patches.unsqueeze(3), self.weight).sum(dim=(-1, -2, -3))
        if self.bias is not None:
            out = out + self.bias
        return out.permute(0, 3, 1, 2)


class MaskNet(nn.Module):
    """one filter bank and a pixelwise decision"""

    def __init__(self, width=6):
        super().__init__()
        self.filters = MyConv2d(1, width, 5, padding=2)
        self.decide = nn.Sequential(nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        return self.decide(self.filters(x)).squeeze(1)


def sanity_check():
    x = torch.randn(4, 3, 10, 10)
    reference = nn.Conv2d(3, 8, 5, padding=1)
    mine = MyConv2d(3, 8, 5, padding=1)
    with torch.no_grad():
        mine.weight.copy_(reference.weight)
        mine.bias.copy_(reference.bias)
        a, b = reference(x), mine(x)
    print('shapes', tuple(a.shape), tuple(b.shape), 'max difference %.2e' % (a - b).abs().max())


def make_blobs(n, size=16):
    g = torch.arange(size, dtype=torch.float32)
    c = torch.rand(n, 2, 1, 1) * (size - 6) + 3
    dist = (g.view(1, -1, 1) - c[:, 0]) ** 2 + (g.view(1, 1, -1) - c[:, 1]) ** 2
    mask = (dist < 9).float()
    return (mask + 0.5 * torch.randn(n, size, size)).unsqueeze(1), mask


@torch.no_grad()
def iou(model, x, mask):
    pred = model(x) > 0
    inter = (pred & (mask > 0)).sum().item()
    union = (pred | (mask > 0)).sum().item()
    return inter / max(union, 1)


def main():
    sanity_check()
    x, mask = make_blobs(128)
    xv, maskv = make_blobs(48)
    model = MaskNet()
    pos_weight = (mask == 0).sum() / (mask == 1).sum()
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight.sqrt())
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=20, gamma=0.5)
    for step in range(50):
        idx = torch.randint(0, len(x), (24,))
        loss = criterion(model(x[idx]), mask[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 10 == 9:
            print('step %d loss %.4f val iou %.3f' % (step + 1, loss.item(), iou(model, xv, maskv)))


if __name__ == '__main__':
    main()
