"""WRONG. loss.backward() of the coordinate branch raises "element 0 of tensors does not require grad and does not have a grad_fn", although all parameters have requires_grad=True.
TRUTH: the coordinates compared in the loss come from `torch.argmax` in decode_coor, which has no gradient. Use the expected bin (softmax over the bins times the bin index) or a cross entropy on the bin scores before the argmax.
THREAD: https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AttrDict(dict):
    __getattr__ = dict.__getitem__


cfg = AttrDict(network=AttrDict(coor_bin=15, width=24),
               train=AttrDict(lr=5e-3, epochs=4, batch=8, conf_weight=0.5, conf_start=2))


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                    nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class RotHead(nn.Module):
    def __init__(self, width, coor_bin):
        super().__init__()
        self.coor_bin = coor_bin
        self.coor = nn.Conv2d(width, 3 * (coor_bin + 1), 1)
        self.conf = nn.Conv2d(width, 1, 1)

    def forward(self, f):
        x, y, z = self.coor(f).split(self.coor_bin + 1, dim=1)
        return x, y, z, self.conf(f)


class CDPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone(cfg.network.width)
        self.rot_head_net = RotHead(cfg.network.width, cfg.network.coor_bin)

    def forward(self, x):
        return self.rot_head_net(self.backbone(x))


def bin_position(score):
    return torch.argmax(score, dim=1).float()  # CULPRIT


def decode_coor(x, y, z):
    coor = torch.stack([bin_position(x), bin_position(y), bin_position(z)], dim=1)
    return 2.0 * coor / cfg.network.coor_bin - 1.0


def make_batch(n, generator):
    img = torch.rand(n, 3, 12, 12, generator=generator) * 2 - 1
    coor = (img * torch.tensor([0.8, -0.7, 0.6]).view(1, 3, 1, 1)).clamp(-1, 1)
    mask = (img.abs().mean(1, keepdim=True) < 0.7).float()
    return img, coor, mask


def coor_loss(pred, gt, mask):
    return ((pred - gt).abs() * mask).sum() / (3 * mask.sum())


@torch.no_grad()
def evaluate(model, generator):
    model.eval()
    img, coor, mask = make_batch(16, generator)
    x, y, z, conf = model(img)
    err = coor_loss(decode_coor(x, y, z), coor, mask)
    acc = ((conf > 0).float() == mask).float().mean()
    model.train()
    return err.item(), acc.item()


def main():
    gen = torch.Generator().manual_seed(1)
    val_gen = torch.Generator().manual_seed(2)
    model = CDPN()
    print("trainable:", all(p.requires_grad for p in model.parameters()))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.train.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.3)
    print("before: coor err %.3f conf acc %.3f" % evaluate(model, val_gen))
    for epoch in range(cfg.train.epochs):
        running = 0.0
        for _ in range(12):
            img, coor, mask = make_batch(cfg.train.batch, gen)
            x, y, z, conf = model(img)
            loss = coor_loss(decode_coor(x, y, z), coor, mask)
            if epoch >= cfg.train.conf_start:
                loss = loss + cfg.train.conf_weight * F.binary_cross_entropy_with_logits(conf, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print("epoch %d loss %.4f | coor err %.3f conf acc %.3f" % ((epoch, running / 12) + evaluate(model, val_gen)))


if __name__ == "__main__":
    main()
