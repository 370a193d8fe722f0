"""WRONG. With DiceLoss the network reaches a very low loss but learns no proper segmentation: practically everything is predicted as background.
TRUTH: intersection and union are summed over all dimensions, classes and batch included, so the big class drowns the small ones; sum over the image axes only and average the dice over the classes.
THREAD: https://github.com/fastai/fastai/pull/3439
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class DiceLoss:
    "Dice loss for segmentation"

    def __init__(self, axis=1, smooth=1e-6):
        self.axis, self.smooth = axis, smooth

    def __call__(self, pred, targ):
        targ = self._one_hot(targ, pred.shape[self.axis])
        pred, targ = self.activation(pred), targ
        sum_dims = (0, 1, 2, 3)  # CULPRIT
        inter = (pred * targ).sum(dim=sum_dims)
        union = (pred + targ).sum(dim=sum_dims)
        loss = 1 - (2. * inter + self.smooth) / (union + self.smooth)
        return loss.mean()

    def _one_hot(self, x, classes):
        return torch.stack([torch.where(x == c, 1, 0) for c in range(classes)], axis=self.axis).float()

    def activation(self, x):
        return F.softmax(x, dim=self.axis)

    def decodes(self, x):
        return x.argmax(dim=self.axis)


class SmallUnet(nn.Module):
    def __init__(self, n_out=3, ch=8):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.LeakyReLU(0.2))
        self.enc2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(ch, ch * 2, 3, padding=1), nn.LeakyReLU(0.2))
        self.up = nn.ConvTranspose2d(ch * 2, ch, 2, stride=2)
        self.head = nn.Sequential(nn.Conv2d(ch * 2, ch, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(ch, n_out, 1))

    def forward(self, x):
        a = self.enc1(x)
        return self.head(torch.cat([a, self.up(self.enc2(a))], dim=1))


def road_scenes(n, s=24):
    x = 0.3 * torch.randn(n, 1, s, s)
    y = torch.zeros(n, s, s, dtype=torch.long)
    for i in range(n):
        for c in (1, 2):
            r, q = torch.randint(0, s - 4, (2,)).tolist()
            y[i, r:r + 4, q:q + 4] = c
    x[:, 0] += torch.where(y == 1, 1.5, 0.0) - torch.where(y == 2, 1.5, 0.0)
    return x, y


def dice_multi(pred, targ, n=3):
    out = []
    for c in range(n):
        p, t = (pred == c), (targ == c)
        out.append((2.0 * (p & t).sum() / (p.sum() + t.sum()).clamp(min=1)).item())
    return out


loss_func = DiceLoss()
model = SmallUnet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(600):
    xb, yb = road_scenes(16)
    loss = loss_func(model(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 120 == 119:
        with torch.no_grad():
            xv, yv = road_scenes(32)
            d = dice_multi(loss_func.decodes(model(xv)), yv)
        print('it %d loss %.4f dice per class' % (it, loss.item()), ['%.3f' % v for v in d])
