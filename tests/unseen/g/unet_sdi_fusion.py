"""WRONG. The semantic and detail infusion has one set of convolution weights for all levels although every level should have its own.
TRUTH: [nn.Conv2d(...)] * 4 repeats the same module object four times; build the list with a comprehension so that four convolutions are made.
THREAD: https://github.com/yaoppeng/U-Net_v2/issues/10
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ChannelAttention(nn.Module):
    def __init__(self, in_planes, ratio=4):
        super(ChannelAttention, self).__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.max_pool = nn.AdaptiveMaxPool2d(1)
        self.fc1 = nn.Conv2d(in_planes, in_planes // ratio, 1, bias=False)
        self.fc2 = nn.Conv2d(in_planes // ratio, in_planes, 1, bias=False)

    def forward(self, x):
        avg_out = self.fc2(F.relu(self.fc1(self.avg_pool(x))))
        max_out = self.fc2(F.relu(self.fc1(self.max_pool(x))))
        return torch.sigmoid(avg_out + max_out)


class SpatialAttention(nn.Module):
    def __init__(self, kernel_size=7):
        super(SpatialAttention, self).__init__()
        self.conv1 = nn.Conv2d(2, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, x):
        avg_out = torch.mean(x, dim=1, keepdim=True)
        max_out, _ = torch.max(x, dim=1, keepdim=True)
        return torch.sigmoid(self.conv1(torch.cat([avg_out, max_out], dim=1)))


class BasicConv2d(nn.Module):
    def __init__(self, in_planes, out_planes, kernel_size=1, stride=1, padding=0):
        super(BasicConv2d, self).__init__()
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size, stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(out_planes)

    def forward(self, x):
        return self.bn(self.conv(x))


class Encoder(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.stages = nn.ModuleList()
        c = 1
        for i, d in enumerate(dims):
            self.stages.append(nn.Sequential(nn.Conv2d(c, d, 3, stride=1 if i == 0 else 2, padding=1), nn.BatchNorm2d(d), nn.ReLU()))
            c = d

    def forward(self, x):
        outs = []
        for stage in self.stages:
            x = stage(x)
            outs.append(x)
        return outs


class SDI(nn.Module):
    def __init__(self, channel):
        super().__init__()
        self.convs = nn.ModuleList(
            [nn.Conv2d(channel, channel, kernel_size=3, stride=1, padding=1)] * 4)  # CULPRIT

    def forward(self, xs, anchor):
        ans = torch.ones_like(anchor)
        target_size = anchor.shape[-1]
        for i, x in enumerate(xs):
            if x.shape[-1] > target_size:
                x = F.adaptive_avg_pool2d(x, (target_size, target_size))
            elif x.shape[-1] < target_size:
                x = F.interpolate(x, size=(target_size, target_size), mode='bilinear', align_corners=True)
            ans = ans * self.convs[i](x)
        return ans


class UNetV2(nn.Module):
    def __init__(self, channel=8, n_classes=1, dims=(8, 12, 16, 20)):
        super().__init__()
        self.encoder = Encoder(dims)
        self.ca = nn.ModuleList([ChannelAttention(d) for d in dims])
        self.sa = nn.ModuleList([SpatialAttention() for _ in dims])
        self.translayers = nn.ModuleList([BasicConv2d(d, channel) for d in dims])
        self.sdi = nn.ModuleList([SDI(channel) for _ in dims])
        self.seg_outs = nn.ModuleList([nn.Conv2d(channel, n_classes, 1, 1) for _ in dims])
        self.deconv = nn.ModuleList([nn.ConvTranspose2d(channel, channel, kernel_size=4, stride=2, padding=1, bias=False) for _ in dims[1:]])

    def forward(self, x):
        fs = []
        for f, ca, sa, tr in zip(self.encoder(x), self.ca, self.sa, self.translayers):
            f = ca(f) * f
            f = sa(f) * f
            fs.append(tr(f))
        levels = [sdi(fs, f) for sdi, f in zip(self.sdi, fs)]
        y = levels[-1]
        outs = [self.seg_outs[0](y)]
        for k, skip in enumerate(reversed(levels[:-1])):
            y = self.deconv[k](y) + skip
            outs.append(self.seg_outs[k + 1](y))
        size = x.shape[-2:]
        return [F.interpolate(o, size=size, mode='bilinear', align_corners=False) for o in outs]


def structure_loss(pred, mask):
    weit = 1 + 5 * torch.abs(F.avg_pool2d(mask, kernel_size=7, stride=1, padding=3) - mask)
    wbce = F.binary_cross_entropy_with_logits(pred, mask, reduction='none')
    wbce = (weit * wbce).sum(dim=(2, 3)) / weit.sum(dim=(2, 3))
    pred = torch.sigmoid(pred)
    inter = ((pred * mask) * weit).sum(dim=(2, 3))
    union = ((pred + mask) * weit).sum(dim=(2, 3))
    wiou = 1 - (inter + 1) / (union - inter + 1)
    return (wbce + wiou).mean()


def polyps(n, g, size=32):
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing='ij')
    c = torch.rand(n, 2, 1, 1, generator=g) - 0.5
    ax = 0.2 + 0.25 * torch.rand(n, 2, 1, 1, generator=g)
    mask = (((xs - c[:, 0]) / ax[:, 0]) ** 2 + ((ys - c[:, 1]) / ax[:, 1]) ** 2 < 1).float()
    img = mask * (0.8 + 0.2 * torch.sin(12 * xs)) + 0.35 * torch.randn(n, size, size, generator=g)
    return img.unsqueeze(1), mask.unsqueeze(1)


if __name__ == '__main__':
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    net = UNetV2()
    print('parameters: %d' % sum(p.numel() for p in net.parameters()))
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50, eta_min=1e-5)
    test_img, test_mask = polyps(32, gen)
    for it in range(50):
        net.train()
        img, mask = polyps(8, gen)
        outs = net(img)
        loss = sum(structure_loss(o, mask) for o in outs)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        if it % 10 == 9:
            net.eval()
            with torch.no_grad():
                p = (net(test_img)[-1] > 0).float()
                dice = (2 * (p * test_mask).sum() / (p.sum() + test_mask.sum())).item()
            print('iter %d loss %.4f dice %.4f' % (it + 1, loss.item(), dice))
