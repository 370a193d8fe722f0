"""CORRECT. Bi-directional cascade: each scale's side output is refined with the detached predictions of the other scales (asked: why detach, is VGG frozen? no, only the earlier predictions are held fixed).
THREAD: https://github.com/pkuCactus/BDCN/issues/8
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Stage(nn.Module):
    def __init__(self, cin, cout, down):
        super().__init__()
        self.down = down
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.score_d = nn.Conv2d(cout, 1, 1)
        self.score_s = nn.Conv2d(cout, 1, 1)

    def forward(self, x):
        if self.down:
            x = F.max_pool2d(x, 2)
        x = F.relu(self.conv(x))
        return x, self.score_d(x), self.score_s(x)


class BDCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Stage(1, 8, False), Stage(8, 12, True), Stage(12, 16, True)])
        self.fuse = nn.Conv2d(6, 1, 1)
        nn.init.constant_(self.fuse.weight, 1.0 / 6)

    def forward(self, x):
        size = x.shape[2:]
        s2d, d2s = [], []
        h = x
        for stage in self.stages:
            h, a, b = stage(h)
            s2d.append(F.interpolate(a, size=size, mode='bilinear', align_corners=False))
            d2s.append(F.interpolate(b, size=size, mode='bilinear', align_corners=False))
        s1, s2, s3 = s2d
        s11, s21, s31 = d2s
        o1, o2, o3 = s1.detach(), s2.detach(), s3.detach()
        o11, o21, o31 = s11.detach(), s21.detach(), s31.detach()
        p1_1 = s1
        p2_1 = s2 + o1
        p3_1 = s3 + o2 + o1
        p1_2 = s11 + o21 + o31
        p2_2 = s21 + o31
        p3_2 = s31
        fuse = self.fuse(torch.cat([p1_1, p2_1, p3_1, p1_2, p2_2, p3_2], 1))
        return [p1_1, p2_1, p3_1, p1_2, p2_2, p3_2, fuse]


def cross_entropy_loss2d(inputs, targets, balance=1.1):
    weights = torch.zeros_like(targets)
    pos = (targets == 1).sum((1, 2, 3), keepdim=True).float()
    neg = (targets == 0).sum((1, 2, 3), keepdim=True).float()
    weights = torch.where(targets == 1, neg / (pos + neg), pos * balance / (pos + neg))
    return F.binary_cross_entropy_with_logits(inputs, targets, weights, reduction='sum')


def disks(n, size=24):
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    c = 6 + 12 * torch.rand(n, 2, 1, 1)
    r = 3 + 4 * torch.rand(n, 1, 1)
    d = ((ys - c[:, 0]) ** 2 + (xs - c[:, 1]) ** 2).sqrt()
    image = (d < r).float() + 0.15 * torch.randn(n, size, size)
    edge = ((d - r).abs() < 0.8).float()
    return image.unsqueeze(1), edge.unsqueeze(1)


net = BDCN()
fuse_params = list(net.fuse.parameters())
base_params = list(net.stages.parameters())
optimizer = torch.optim.Adam([{'params': base_params, 'lr': 3e-3}, {'params': fuse_params, 'lr': 3e-4}])

batch = 8
for it in range(1, 161):
    image, edge = disks(batch)
    out = net(image)
    loss = 0
    for k in range(6):
        loss = loss + 0.5 * cross_entropy_loss2d(out[k], edge) / batch
    loss = loss + 1.1 * cross_entropy_loss2d(out[-1], edge) / batch
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 0:
        with torch.no_grad():
            p = torch.sigmoid(out[-1])
            gap = p[edge == 1].mean() - p[edge == 0].mean()
        print('iter %d loss %.3f edge - background %.3f' % (it, loss.item(), gap.item()))
