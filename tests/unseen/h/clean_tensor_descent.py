"""CORRECT. A bare tensor (no nn.Parameter, no module) is optimised directly through constant operators that need no gradient (asked about requires_grad propagation; the answer shows this form).
THREAD: https://discuss.pytorch.org/t/requires-grad-propagation/93792
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

SIDE = 20


class Blur(nn.Module):
    """a fixed optical system, everything in it is a buffer"""

    def __init__(self, width=5, sigma=1.2):
        super().__init__()
        t = torch.arange(width).float() - width // 2
        g = torch.exp(-t ** 2 / (2 * sigma ** 2))
        kernel = (g[:, None] * g[None]) / g.sum() ** 2
        self.register_buffer('kernel', kernel.view(1, 1, width, width))
        self.register_buffer('gain', torch.rand(1, 1, SIDE, SIDE) * 0.4 + 0.8)
        self.pad = width // 2

    def forward(self, x):
        return self.gain * F.conv2d(x, self.kernel, padding=self.pad)


def phantom():
    image = torch.zeros(1, 1, SIDE, SIDE)
    image[..., 4:10, 5:15] = 1.0
    image[..., 12:17, 8:12] = 0.6
    return image


def total_variation(x):
    return (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()


system = Blur()
truth = phantom()
with torch.no_grad():
    measured = system(truth) + 0.01 * torch.randn_like(truth)
cte_background = torch.full((1, 1, SIDE, SIDE), 0.05).requires_grad_(False)

tensor = torch.zeros(1, 1, SIDE, SIDE).requires_grad_()
optim = torch.optim.Adam([tensor], lr=0.05)

print('parameters of the system: %d' % len(list(system.parameters())))
for i in range(1, 401):
    optim.zero_grad()
    output = system(tensor) + cte_background
    fit = F.mse_loss(output, measured + cte_background)
    loss = fit + 2e-3 * total_variation(tensor)
    loss.backward()
    optim.step()
    with torch.no_grad():
        tensor.clamp_(0, 1)
    if i % 100 == 0:
        error = (tensor.detach() - truth).pow(2).mean().sqrt().item()
        blurred = (measured - truth).pow(2).mean().sqrt().item()
        print('iter %d loss %.6f rmse %.4f (measured %.4f) requires grad: %s' % (
            i, loss.item(), error, blurred, output.requires_grad))
