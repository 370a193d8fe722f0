"""What the user sees: the result is exactly the same (to the last digit) for any gradient_loss_weight, also for 0;
the image gradient loss has no influence on the masks.

TRUTH: ImageGradientLoss takes pred.argmax(1), which is not differentiable, so the loss term is a constant for autograd. Fix:
use the (soft) hair channel pred[:, 1:2] (after softmax) instead of the argmax.
THREAD: https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3 "loss fails in backward"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageGradientLoss(nn.Module):
    def __init__(self):
        super().__init__()
        sobel = torch.tensor([[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]])
        self.register_buffer('kx', sobel.view(1, 1, 3, 3) / 4)
        self.register_buffer('ky', sobel.t().contiguous().view(1, 1, 3, 3) / 4)

    def _grad(self, x):
        return F.conv2d(x, self.kx, padding=1), F.conv2d(x, self.ky, padding=1)

    def forward(self, pred, gray_image):
        size = pred.size()
        pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()  # CULPRIT
        ix, iy = self._grad(gray_image)
        mx, my = self._grad(pred)
        mag = torch.sqrt(mx ** 2 + my ** 2 + 1e-8)
        cos = (ix * mx + iy * my) / (torch.sqrt(ix ** 2 + iy ** 2 + 1e-8) * mag)
        return (mag * (1 - cos ** 2)).sum() / (mag.sum() + 1e-6) + 0.2 * mag.mean()


class HairMattingLoss(nn.Module):
    def __init__(self, gradient_loss_weight=0.4):
        super().__init__()
        self.gradient = ImageGradientLoss()
        self.weight = gradient_loss_weight

    def forward(self, pred, mask, gray):
        bce = F.cross_entropy(pred, mask)
        grad = self.gradient(pred, gray)
        return bce + self.weight * grad, bce.item(), grad.item()


class MobileHair(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU6(),
            nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Conv2d(width, width, 1), nn.ReLU6(),
            nn.Conv2d(width, 2, 1))

    def forward(self, x):
        return self.net(x)


def portraits(n=8, s=20):
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing='ij')
    cy, cx = torch.rand(n, 1, 1) * 8 + 6, torch.rand(n, 1, 1) * 8 + 6
    hair = (((yy - cy) ** 2 + (xx - cx) ** 2) < 30).long()
    image = torch.stack([1 - 0.7 * hair, 0.9 - 0.6 * hair, 0.8 - 0.5 * hair], 1) + 0.25 * torch.randn(n, 3, s, s)
    flip = torch.rand(n, s, s) < 0.15
    return image, torch.where(flip, 1 - hair, hair), hair


def train(gradient_loss_weight):
    torch.manual_seed(0)
    model, loss_fn = MobileHair(), HairMattingLoss(gradient_loss_weight)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    history = []
    for it in range(1, 121):
        image, mask, hair = portraits()
        pred = model(image)
        loss, bce, grad = loss_fn(pred, mask, image.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        soft = pred.detach().softmax(1)[:, 1]
        history.append((bce, grad, ((soft > 0.5).long() == hair).float().mean().item()))
        if it % 60 == 0:
            m = [sum(h[k] for h in history[-60:]) / 60 for k in range(3)]
            print('weight %.1f iter %d bce %.5f image gradient loss %.5f acc %.4f' % (gradient_loss_weight, it, *m))


for weight in (0., 0.4, 1.0):
    train(weight)
