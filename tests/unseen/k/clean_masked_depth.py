"""RIGHT. Depth regression with holes: log loss only at valid pixels, activations logged by a hook, best weights kept in memory.
TRUTH: invalid targets are replaced before the logarithm (so no nan arises in forward or backward), images without a valid
pixel count zero; the hook stores plain numbers and is removed; the best state is cloned.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DepthNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, c, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(c, c, 3, padding=2, dilation=2), nn.ReLU(inplace=True),
            nn.Conv2d(c, 1, 3, padding=1),
        )

    def forward(self, x):
        return F.softplus(self.body(x)).squeeze(1) + 1e-3


def masked_log_loss(pred, depth):
    valid = depth > 0
    safe = torch.where(valid, depth, torch.ones_like(depth))
    err = (torch.log(pred) - torch.log(safe)).abs()
    err = torch.where(valid, err, torch.zeros_like(err))
    count = valid.sum((1, 2))
    per_image = err.sum((1, 2)) / count.clamp(min=1)
    return per_image.sum() / (count > 0).sum().clamp(min=1)


def masked_std(pred, depth):
    """spread of the ratio, detached: only a number for the log"""
    valid = depth > 0
    ratio = pred.detach()[valid] / depth[valid]
    return ratio.std().item()


class ActivationMeter:
    def __init__(self, layer):
        self.total, self.n = 0.0, 0
        self.handle = layer.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        self.total += (output.detach() > 0).float().mean().item()
        self.n += 1

    def close(self):
        self.handle.remove()
        return self.total / max(self.n, 1)


def make_scenes(n, size=14):
    g = torch.linspace(0, 1, size)
    slope = torch.rand(n, 1, 1) * 2 + 0.5
    depth = 1.0 + slope * g.view(1, -1, 1) + 0.3 * g.view(1, 1, -1)
    shade = 1.0 / depth + 0.03 * torch.randn(n, size, size)
    rows = g.view(1, -1, 1).expand(n, size, size)
    x = torch.stack([shade, rows], dim=1)
    holes = torch.rand(n, size, size) < 0.4
    depth = depth.masked_fill(holes, 0.0)
    depth[::17] = 0.0
    return x, depth


@torch.no_grad()
def evaluate(net, x, depth):
    net.eval()
    pred = net(x)
    net.train()
    return masked_log_loss(pred, depth).item(), masked_std(pred, depth)


def main():
    x, depth = make_scenes(160)
    xv, depthv = make_scenes(64)
    net = DepthNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    meter = ActivationMeter(net.body[0])
    best, best_state = float('inf'), None
    for epoch in range(8):
        total, batches = 0.0, 0
        for idx in torch.randperm(len(x)).split(32):
            loss = masked_log_loss(net(x[idx]), depth[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1
        val, spread = evaluate(net, xv, depthv)
        scheduler.step(val)
        if val < best:
            best = val
            best_state = {k: v.detach().clone() for k, v in net.state_dict().items()}
        print('epoch %d train %.4f val %.4f ratio std %.3f' % (epoch, total / batches, val, spread))
    print('active share in the first layer %.2f' % meter.close())
    net.load_state_dict(best_state)
    print('best %.4f, after loading %.4f' % (best, evaluate(net, xv, depthv)[0]))


if __name__ == '__main__':
    main()
