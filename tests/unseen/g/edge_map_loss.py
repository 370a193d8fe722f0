"""WRONG. In the back-propagation nan values appear with the Sobel layer.
TRUTH: torch.sqrt is taken of gx^2 + gy^2, which is exactly 0 in flat regions where the derivative of sqrt is infinite; add a small epsilon inside the sqrt.
THREAD: https://github.com/chaddy1004/sobel-operator-pytorch/issues/1
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Sobel(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(in_channels=1, out_channels=2, kernel_size=3, stride=1, padding=0, bias=False)

        Gx = torch.tensor([[2.0, 0.0, -2.0], [4.0, 0.0, -4.0], [2.0, 0.0, -2.0]])
        Gy = torch.tensor([[2.0, 4.0, 2.0], [0.0, 0.0, 0.0], [-2.0, -4.0, -2.0]])
        G = torch.cat([Gx.unsqueeze(0), Gy.unsqueeze(0)], 0)
        G = G.unsqueeze(1)
        self.filter.weight = nn.Parameter(G, requires_grad=False)

    def forward(self, img):
        x = self.filter(img)
        x = torch.mul(x, x)
        x = torch.sum(x, dim=1, keepdim=True)
        x = torch.sqrt(x)  # CULPRIT
        return x


class DepthNet(nn.Module):
    """Depth from a shaded picture; the output is a distance and cannot be negative."""

    def __init__(self, width=12):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ELU())
        self.enc2 = nn.Sequential(nn.Conv2d(width, width * 2, 3, stride=2, padding=1), nn.BatchNorm2d(width * 2), nn.ELU())
        self.dec = nn.Sequential(nn.Conv2d(width * 2, width, 3, padding=1), nn.ELU())
        self.out = nn.Conv2d(width * 2, 1, 3, padding=1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(a)
        b = F.interpolate(self.dec(b), scale_factor=2, mode='nearest')
        return F.relu(self.out(torch.cat([a, b], dim=1)))


class DepthLoss(nn.Module):
    def __init__(self, edge_weight=0.1, smooth_weight=0.01):
        super().__init__()
        self.sobel = Sobel()
        self.edge_weight = edge_weight
        self.smooth_weight = smooth_weight

    def smoothness(self, depth, image):
        dx = (depth[..., :, 1:] - depth[..., :, :-1]).abs()
        dy = (depth[..., 1:, :] - depth[..., :-1, :]).abs()
        wx = torch.exp(-(image[..., :, 1:] - image[..., :, :-1]).abs())
        wy = torch.exp(-(image[..., 1:, :] - image[..., :-1, :]).abs())
        return (dx * wx).mean() + (dy * wy).mean()

    def forward(self, pred, target, image):
        depth = F.smooth_l1_loss(pred, target)
        edges = F.l1_loss(self.sobel(pred), self.sobel(target))
        smooth = self.smoothness(pred, image)
        return depth + self.edge_weight * edges + self.smooth_weight * smooth, depth


def scenes(n, rng, size=24):
    """Some objects in front of an empty background at depth zero."""
    depth = np.zeros((n, 1, size, size), dtype=np.float32)
    image = np.zeros_like(depth)
    yy, xx = np.mgrid[:size, :size]
    for i in range(n):
        for _ in range(rng.integers(1, 4)):
            cy, cx = rng.integers(4, size - 4, 2)
            r, d = rng.integers(3, 6), rng.uniform(0.4, 1.5)
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
            depth[i, 0][inside] = d
            image[i, 0][inside] = 1.6 - d
    image += 0.05 * rng.normal(size=image.shape).astype(np.float32)
    return torch.from_numpy(image), torch.from_numpy(depth)


class RunningMean:
    def __init__(self):
        self.values = []

    def __call__(self, v):
        self.values.append(v)
        return float(np.mean(self.values[-10:]))


def main():
    torch.manual_seed(9)
    rng = np.random.default_rng(9)
    net = DepthNet()
    criterion = DepthLoss()
    trainable = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=2e-3, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=25, gamma=0.5)
    mean = RunningMean()
    test_image, test_depth = scenes(16, rng)
    for step in range(60):
        net.train()
        image, depth = scenes(8, rng)
        pred = net(image)
        loss, depth_loss = criterion(pred, depth, image)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trainable, 5.0)
        optimizer.step()
        scheduler.step()
        m = mean(loss.item())
        if step % 10 == 0:
            net.eval()
            with torch.no_grad():
                rmse = F.mse_loss(net(test_image), test_depth).sqrt().item()
            print('step %2d loss %.4f depth %.4f test rmse %.4f' % (step, m, depth_loss.item(), rmse))


if __name__ == '__main__':
    main()
