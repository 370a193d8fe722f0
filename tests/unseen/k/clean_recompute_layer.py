"""RIGHT. A hand made checkpoint Function: forward runs without a graph and keeps only the input, backward builds the graph
anew and sends the parameter gradients through it.
TRUTH: forward of a Function is not recorded anyway; in backward the detached input is a new leaf, enable_grad rebuilds the
segment and torch.autograd.grad returns gradients for input and parameters in the order of the arguments; the segments have no
dropout or batch statistics, so the second run equals the first; once_differentiable forbids what is not supported.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

torch.manual_seed(0)


class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *params):
        ctx.segment = segment
        ctx.save_for_backward(x, *params)
        return segment(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, *params = ctx.saved_tensors
        x = x.detach().requires_grad_(ctx.needs_input_grad[1])
        with torch.enable_grad():
            out = ctx.segment(x)
        wanted = [t for t in [x] + params if t.requires_grad]
        grads = iter(torch.autograd.grad(out, wanted, grad_output))
        return (None,) + tuple(next(grads) if t.requires_grad else None for t in [x] + params)


class Light(nn.Module):
    """wraps a segment; its activations are not kept in training"""

    def __init__(self, segment):
        super().__init__()
        self.segment = segment

    def forward(self, x):
        if torch.is_grad_enabled():
            return Recompute.apply(self.segment, x, *self.segment.parameters())
        return self.segment(x)


def segment(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.LayerNorm(width))


class Net(nn.Module):
    def __init__(self, d_in=10, width=24, depth=3, light=True):
        super().__init__()
        self.inp = nn.Linear(d_in, width)
        parts = [segment(width) for _ in range(depth)]
        self.parts = nn.ModuleList(Light(p) if light else p for p in parts)
        self.parts[0].requires_grad_(False)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for part in self.parts:
            x = x + part(x)
        return self.out(x).squeeze(1)


def same_gradients(a, b, x, y):
    for net in (a, b):
        net.zero_grad()
        F.mse_loss(net(x), y).backward()
    worst = 0.0
    for p, q in zip(a.parameters(), b.parameters()):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            worst = max(worst, (p.grad - q.grad).abs().max().item())
        p.grad = q.grad = None
    return worst


def make_data(n):
    x = torch.randn(n, 10)
    return x, torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2]


def main():
    light, plain = Net(light=True), Net(light=False)
    with torch.no_grad():
        for p, q in zip(plain.parameters(), light.parameters()):
            p.copy_(q)
    x, y = make_data(512)
    xv, yv = make_data(128)
    print('largest gradient difference %.1e' % same_gradients(light, plain, x[:64], y[:64]))
    optimizer = torch.optim.Adam([p for p in light.parameters() if p.requires_grad], lr=5e-3)
    for step in range(80):
        idx = torch.randint(0, len(x), (64,))
        optimizer.zero_grad()
        loss = F.mse_loss(light(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            with torch.no_grad():
                val = F.mse_loss(light(xv), yv).item()
            print('step %d train %.4f val %.4f' % (step + 1, loss.item(), val))


if __name__ == '__main__':
    main()
