"""WRONG. Training stops at the first backward: one of the variables needed for gradient computation has been modified by an inplace operation.
TRUTH: out = x only gives the block input a second name, so the later out += changes the tensor that the convolutions have saved; out = x.clone().
THREAD: https://github.com/Jee-King/TSAN/issues/3
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CALayer(nn.Module):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.fc = nn.Sequential(nn.Conv2d(channel, channel // reduction, 1), nn.ReLU(inplace=True),
                                nn.Conv2d(channel // reduction, channel, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(F.adaptive_avg_pool2d(x, 1))


class MCAB(nn.Module):
    """multi-context attentive block"""

    def __init__(self, n_feats):
        super().__init__()
        self.d1 = nn.Conv2d(n_feats, n_feats, 3, padding=1, dilation=1)
        self.d2 = nn.Conv2d(n_feats, n_feats, 3, padding=2, dilation=2)
        self.fuse = nn.Conv2d(n_feats * 2, n_feats, 1)
        self.ca = CALayer(n_feats)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x):
        out = x  # CULPRIT
        a = self.act(self.d1(x))
        b = self.act(self.d2(x))
        res = self.ca(self.fuse(torch.cat([a, b], dim=1)))
        out += res
        return out


class TSAN(nn.Module):
    def __init__(self, n_feats=16, n_blocks=3, scale=2):
        super().__init__()
        self.head = nn.Conv2d(1, n_feats, 3, padding=1)
        self.body = nn.Sequential(*[MCAB(n_feats) for _ in range(n_blocks)])
        self.up = nn.Sequential(nn.Conv2d(n_feats, scale * scale, 3, padding=1), nn.PixelShuffle(scale))
        self.refine = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, lr):
        coarse = self.up(self.body(self.head(lr)))
        fine = coarse + self.refine(coarse)
        return coarse, fine


def make_patches(n):
    g = torch.linspace(-1, 1, 16)
    yy, xx = torch.meshgrid(g, g, indexing='ij')
    f = torch.rand(n, 1, 1, 1) * 6 + 1
    ang = torch.rand(n, 1, 1, 1) * 3.14
    hr = torch.sin(f * (xx * torch.cos(ang) + yy * torch.sin(ang)))
    return F.avg_pool2d(hr, 2), hr


lr_imgs, hr_imgs = make_patches(128)
model = TSAN()
loss_fn = nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    total = 0
    for i in range(0, 128, 16):
        lr, hr = lr_imgs[i:i + 16], hr_imgs[i:i + 16]
        coarse, fine = model(lr)
        loss = loss_fn(coarse, hr) + loss_fn(fine, hr)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print('Epoch %d  loss %.4f' % (epoch, total / 8))
