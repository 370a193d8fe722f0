"""WRONG. The last layer, which should be frozen in the adaptation, is different from the source model's afterwards.
TRUTH: requires_grad is set as an attribute of the module outc, which does nothing to its parameters; use outc.requires_grad_(False) or a loop over outc.parameters().
THREAD: https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18
"""
import copy
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                                  nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, n_classes=3, width=8):
        super().__init__()
        self.inc = DoubleConv(1, width)
        self.down1 = DoubleConv(width, width * 2)
        self.up1 = DoubleConv(width * 3, width)
        self.outc = nn.Conv2d(width, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x2 = F.interpolate(x2, scale_factor=2, mode='bilinear', align_corners=True)
        feat = self.up1(torch.cat([x2, x1], dim=1))
        return feat, self.outc(feat)


def organs(n, gen, gain=1.0, offset=0.0, size=24):
    ys, xs = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing='ij')
    c = size * (0.35 + 0.3 * torch.rand(n, 2, generator=gen))
    r = size * (0.2 + 0.1 * torch.rand(n, generator=gen))
    d = ((ys[None] - c[:, :1, None]) ** 2 + (xs[None] - c[:, 1:, None]) ** 2).sqrt()
    lab = (d < r[:, None, None]).long() + (d < 0.45 * r[:, None, None]).long()
    img = torch.tensor([0.0, 0.6, 1.2])[lab] + 0.25 * torch.randn(n, size, size, generator=gen)
    return (gain * img + offset).unsqueeze(1), lab


def dice(model, img, lab):
    model.eval()
    with torch.no_grad():
        pred = model(img)[1].argmax(1)
    out = []
    for k in (1, 2):
        inter = ((pred == k) & (lab == k)).sum().item()
        out.append(2 * inter / max((pred == k).sum().item() + (lab == k).sum().item(), 1))
    return sum(out) / len(out)


def train_source(path, steps=60):
    gen = torch.Generator().manual_seed(1)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        img, lab = organs(8, gen)
        loss = F.cross_entropy(model(img)[1], lab)
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({'model_state': model.state_dict()}, path)
    print('source dice %.3f' % dice(model, *organs(32, gen)))


class PFATrainer(object):
    """Prototype-anchored feature alignment: the rows of the source classifier are the prototypes."""

    def __init__(self, checkpoint, lr=5e-4):
        self.model = UNet()
        self.model.load_state_dict(torch.load(checkpoint)['model_state'])
        self.model.outc.requires_grad = False  # CULPRIT
        self.source_head = copy.deepcopy(self.model.outc)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr, betas=(0.9, 0.999))

    def losses(self, img):
        feat, out = self.model(img)
        proto = F.normalize(self.model.outc.weight.flatten(1), dim=1)
        f = F.normalize(feat, dim=1).permute(0, 2, 3, 1).reshape(-1, feat.shape[1])
        cost = 1 - f @ proto.t()
        prob = torch.softmax(out, dim=1).permute(0, 2, 3, 1).reshape(-1, out.shape[1])
        align_t2p = (prob * cost).sum(1).mean()
        weight = torch.softmax(-cost / 0.1, dim=0)
        align_p2t = (weight * cost).sum(0).mean()
        entropy = -(prob * prob.clamp(min=1e-6).log()).sum(1).mean()
        return align_t2p, align_p2t, entropy

    def optimize_parameters(self, img):
        self.model.train()
        t2p, p2t, ent = self.losses(img)
        loss = t2p + 0.5 * p2t + 0.5 * ent
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return t2p.item(), p2t.item(), ent.item()

    def drift(self):
        with torch.no_grad():
            return (self.model.outc.weight - self.source_head.weight).norm().item()


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as d:
        ckpt = os.path.join(d, 'source.pth')
        train_source(ckpt)
        trainer = PFATrainer(ckpt)
    gen = torch.Generator().manual_seed(2)
    target = organs(32, gen, gain=0.7, offset=0.5)
    print('before adaptation, target dice %.3f' % dice(trainer.model, *target))
    for it in range(40):
        img, _ = organs(8, gen, gain=0.7, offset=0.5)
        log = trainer.optimize_parameters(img)
        if it % 10 == 9:
            print('iter %d t2p %.4f p2t %.4f ent %.4f' % (it + 1, *log))
    print('after adaptation, target dice %.3f, head distance to source %.4f' % (dice(trainer.model, *target), trainer.drift()))


if __name__ == '__main__':
    main()
