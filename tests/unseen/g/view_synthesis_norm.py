"""WRONG. Memory leak of some MB per second on the CPU; training crashes after a couple of days.
TRUTH: the custom batch norm updates its stored statistics with the batch statistics that still carry the graph, so stored_mean/stored_var extend one graph over all iterations; update them with detached values or under no_grad.
THREAD: https://github.com/facebookresearch/synsin/pull/20
"""
import resource
import torch
import torch.nn as nn
import torch.nn.functional as F


def manual_bn(x, gain=None, bias=None, return_mean_var=False, eps=1e-5):
    float_x = x.float()
    m = torch.mean(float_x, [0, 2, 3], keepdim=True)
    m2 = torch.mean(float_x ** 2, [0, 2, 3], keepdim=True)
    var = m2 - m ** 2
    out = fused_bn(x, m, var, gain, bias, eps)
    if return_mean_var:
        return out, m.squeeze(), var.squeeze()
    return out


def fused_bn(x, mean, var, gain=None, bias=None, eps=1e-5):
    scale = torch.rsqrt(var + eps)
    if gain is not None:
        scale = scale * gain
    shift = mean * scale
    if bias is not None:
        shift = shift - bias
    return x * scale - shift


class myBN(nn.Module):
    def __init__(self, num_channels, eps=1e-5, momentum=0.1):
        super(myBN, self).__init__()
        self.momentum = momentum
        self.eps = eps
        self.register_buffer('stored_mean', torch.zeros(num_channels))
        self.register_buffer('stored_var', torch.ones(num_channels))
        self.register_buffer('accumulation_counter', torch.zeros(1))
        self.accumulate_standing = False

    def reset_stats(self):
        self.stored_mean[:] = 0
        self.stored_var[:] = 0
        self.accumulation_counter[:] = 0

    def forward(self, x, gain, bias):
        if self.training:
            out, mean, var = manual_bn(x, gain, bias, return_mean_var=True, eps=self.eps)
            if self.accumulate_standing:
                self.stored_mean[:] = self.stored_mean + mean.data
                self.stored_var[:] = self.stored_var + var.data
                self.accumulation_counter += 1.0
            else:
                for stored, new in ((self.stored_mean, mean), (self.stored_var, var)):
                    stored[:] = stored * (1 - self.momentum) + new * self.momentum  # CULPRIT
            return out
        mean = self.stored_mean.view(1, -1, 1, 1)
        var = self.stored_var.view(1, -1, 1, 1)
        if self.accumulate_standing:
            mean = mean / self.accumulation_counter
            var = var / self.accumulation_counter
        return fused_bn(x, mean, var, gain, bias, self.eps)


class bn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.bn = myBN(channels)

    def forward(self, x):
        return self.bn(x, self.gain.view(1, -1, 1, 1), self.bias.view(1, -1, 1, 1))


class ResNetEncoder(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.inp = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(nn.ModuleList([bn(width), nn.Conv2d(width, width, 3, padding=1)]))
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        h = self.inp(x)
        for norm, conv in self.blocks:
            h = h + conv(F.relu(norm(h)))
        return self.out(h)


def views(n, size=16):
    base = torch.rand(n, 3, 4, 4)
    left = F.interpolate(base, size=(size, size), mode='bilinear', align_corners=False)
    return left, torch.roll(left, shifts=2, dims=3)


def main():
    torch.manual_seed(0)
    model = ResNetEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.0, 0.99))
    val_in, val_out = views(16)
    for it in range(240):
        model.train()
        src, tgt = views(8)
        optimizer.zero_grad()
        pred = model(src)
        loss = F.l1_loss(pred, tgt) + 0.1 * F.mse_loss(F.avg_pool2d(pred, 4), F.avg_pool2d(tgt, 4))
        loss.backward()
        optimizer.step()
        if it % 60 == 59:
            model.eval()
            with torch.no_grad():
                val = F.l1_loss(model(val_in), val_out).item()
            mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print('iter %d loss %.4f val %.4f maxrss %.1f MB' % (it + 1, loss.item(), val, mb))


if __name__ == '__main__':
    main()
