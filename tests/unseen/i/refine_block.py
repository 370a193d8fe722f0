"""WRONG. The residual conv units in the RefineNet block seem to have no effect: with or without them the block gives the same output and they never train.
TRUTH: in the loop x = rcu(x) only rebinds the loop variable, xs stays as it was; the results have to be collected in a list that is passed on.
THREAD: https://github.com/thomasjpfan/pytorch_refinenet/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResidualConvUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1)

    def forward(self, x):
        out = self.conv1(F.relu(x))
        out = self.conv2(F.relu(out))
        return out + x


class MultiResolutionFusion(nn.Module):
    def __init__(self, out_feats, *shapes):
        super().__init__()
        self.scale_factors = [s for _, s in shapes]
        self.resolve = nn.ModuleList([nn.Conv2d(f, out_feats, 3, padding=1, bias=False) for f, _ in shapes])

    def forward(self, *xs):
        out = self.resolve[0](xs[0])
        for i, x in enumerate(xs[1:], 1):
            y = self.resolve[i](x)
            out = out + F.interpolate(y, size=out.shape[2:], mode='bilinear', align_corners=True)
        return out


class RefineNetBlock(nn.Module):
    def __init__(self, features, *shapes):
        super().__init__()
        for i, (feats, _) in enumerate(shapes):
            self.add_module('rcu{}'.format(i), nn.Sequential(ResidualConvUnit(feats), ResidualConvUnit(feats)))
        self.mrf = MultiResolutionFusion(features, *shapes) if len(shapes) != 1 else None
        self.output_conv = ResidualConvUnit(features)

    def forward(self, *xs):
        for i, x in enumerate(xs):
            x = self.__getattr__('rcu{}'.format(i))(x)  # CULPRIT

        if self.mrf is not None:
            out = self.mrf(*xs)
        else:
            out = xs[0]
        return self.output_conv(out)


class RefineNet(nn.Module):
    def __init__(self, n_classes=3, features=8):
        super().__init__()
        self.layer1 = nn.Conv2d(1, features, 3, padding=1)
        self.layer2 = nn.Conv2d(features, features, 3, stride=2, padding=1)
        self.refine = RefineNetBlock(features, (features, 1), (features, 2))
        self.clf_conv = nn.Conv2d(features, n_classes, 3, padding=1)

    def forward(self, x):
        l1 = F.relu(self.layer1(x))
        l2 = F.relu(self.layer2(l1))
        return self.clf_conv(self.refine(l1, l2))


def scenes(n, s=16):
    x = torch.randn(n, 1, s, s)
    smooth = F.avg_pool2d(x, 5, 1, 2)
    y = torch.zeros(n, s, s, dtype=torch.long)
    y[(smooth > 0.08)[:, 0]] = 1
    y[(smooth < -0.08)[:, 0]] = 2
    return x, y


net = RefineNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(100):
    x, y = scenes(8)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 19:
        print('iter %d loss %.4f' % (it, loss.item()))
w = net.refine.rcu0[0].conv1.weight
print('rcu0 gradient:', None if w.grad is None else w.grad.norm().item())
