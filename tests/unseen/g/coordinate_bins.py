"""WRONG. loss.backward() raises: element 0 of tensors does not require grad and does not have a grad_fn, although all parameters require grad.
TRUTH: torch.argmax over the coordinate bins is not differentiable, so the loss after it hangs on nothing; take the loss on the bin scores (cross entropy before the argmax; or a soft-argmax).
THREAD: https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = dict(coor_bin=8, feat=16, img=16, lr=1e-3, steps=30, batch=4, rot_weight=0.1)


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.body(x)


class RotHead(nn.Module):
    """Per pixel one score per bin (plus background) and axis."""

    def __init__(self, width, bins):
        super().__init__()
        self.bins = bins
        self.out = nn.Conv2d(width, 3 * (bins + 1), 1)

    def forward(self, f):
        o = self.out(f)
        b = self.bins + 1
        return o[:, :b], o[:, b:2 * b], o[:, 2 * b:]


class TransHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, f):
        return self.fc(f.mean(dim=(2, 3)))


class CDPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone(cfg['feat'])
        self.rot_head_net = RotHead(cfg['feat'], cfg['coor_bin'])
        self.trans_head_net = TransHead(cfg['feat'])

    def forward(self, x, train_trans):
        f = self.backbone(x)
        rot = self.rot_head_net(f)
        return rot, (self.trans_head_net(f) if train_trans else None)


def render(n, size, gen):
    """Discs on a dark ground; the coordinates are the position inside the disc."""
    ys, xs = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing='ij')
    imgs, coors, masks = [], [], []
    for _ in range(n):
        cx, cy = (torch.rand(2, generator=gen) * size * 0.4 + size * 0.3).tolist()
        r = size * 0.28
        u, v = (xs - cx) / r, (ys - cy) / r
        mask = (u * u + v * v < 1).float()
        w = (1 - u * u - v * v).clamp(min=0).sqrt()
        coor = torch.stack([u, v, w]) * mask
        imgs.append(coor * 0.5 + 0.05 * torch.randn(3, size, size, generator=gen))
        coors.append(coor)
        masks.append(mask)
    return torch.stack(imgs), torch.stack(coors), torch.stack(masks)


def decode(output_coor_x, output_coor_y, output_coor_z):
    output_coor_ = torch.stack([torch.argmax(output_coor_x, dim=1),  # CULPRIT
                                torch.argmax(output_coor_y, dim=1),
                                torch.argmax(output_coor_z, dim=1)], dim=1)
    output_coor_[output_coor_ == cfg['coor_bin']] = 0
    return 2.0 * output_coor_.float() / (cfg['coor_bin'] - 1.0) - 1.0


def train():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = CDPN()
    for p in model.trans_head_net.parameters():
        p.requires_grad = False
    optimizer = torch.optim.RMSprop([p for p in model.parameters() if p.requires_grad], lr=cfg['lr'])
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [20], gamma=0.1)
    criterion_coor = nn.L1Loss()
    model.train()
    for step in range(cfg['steps']):
        img, gt_coor, gt_mask = render(cfg['batch'], cfg['img'], gen)
        (cx, cy, cz), _ = model(img, train_trans=False)
        pred_coor = decode(cx, cy, cz)
        m = gt_mask.unsqueeze(1)
        loss = criterion_coor(pred_coor * m, gt_coor * m)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            with torch.no_grad():
                err = ((decode(cx, cy, cz) - gt_coor).abs() * m).sum() / (3 * m.sum())
            print('step %d coor loss %.4f error on the object %.3f' % (step, loss.item(), err))


if __name__ == '__main__':
    train()
