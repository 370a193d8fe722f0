"""RIGHT. Quantisation aware training of a small regression net with a hand written rounding Function; scales are set by hand.
TRUTH: round() has no useful derivative, the straight-through backward passes the gradient inside the range and blocks it
outside on purpose; scale and bits need no gradient (None); the observers work on detached values.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FakeQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        qmax = 2 ** (bits - 1) - 1
        q = torch.round(x / scale)
        ctx.save_for_backward(q.abs() <= qmax)
        return q.clamp(-qmax, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        inside, = ctx.saved_tensors
        return grad_output * inside, None, None


class RangeObserver(nn.Module):
    """moving maximum of |x|, only for the scale"""

    def __init__(self, bits, decay=0.9):
        super().__init__()
        self.bits, self.decay = bits, decay
        self.register_buffer('top', torch.zeros(()))

    def forward(self, x):
        if self.training:
            now = x.detach().abs().max()
            if self.top == 0:
                self.top.copy_(now)
            else:
                self.top.mul_(self.decay).add_(now, alpha=1 - self.decay)
        return self.top.clamp(min=1e-6) / (2 ** (self.bits - 1) - 1)


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__(n_in, n_out)
        self.bits = bits
        self.observe_x = RangeObserver(8)
        self.observe_w = RangeObserver(bits)
        self.enabled = False

    def forward(self, x):
        sx, sw = self.observe_x(x), self.observe_w(self.weight)
        if not self.enabled:
            return F.linear(x, self.weight, self.bias)
        xq = FakeQuant.apply(x, sx, 8)
        wq = FakeQuant.apply(self.weight, sw, self.bits)
        return F.linear(xq, wq, self.bias)


def build():
    return nn.Sequential(QuantLinear(6, 32), nn.ReLU(), QuantLinear(32, 32), nn.ReLU(), QuantLinear(32, 1))


def set_quant(model, on):
    for m in model:
        if isinstance(m, QuantLinear):
            m.enabled = on


def make_data(n):
    x = torch.rand(n, 6) * 2 - 1
    y = torch.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    return x, y


@torch.no_grad()
def mse(model, x, y):
    model.eval()
    value = F.mse_loss(model(x), y).item()
    model.train()
    return value


def fit(model, x, y, steps, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        idx = torch.randint(0, len(x), (64,))
        optimizer.zero_grad()
        F.mse_loss(model(x[idx]), y[idx]).backward()
        optimizer.step()


def main():
    x, y = make_data(512)
    xv, yv = make_data(128)
    model = build()
    fit(model, x, y, 150, 1e-2)
    print('float:              %.4f' % mse(model, xv, yv))
    set_quant(model, True)
    print('quantised, untuned: %.4f' % mse(model, xv, yv))
    fit(model, x, y, 60, 2e-3)
    print('quantised, tuned:   %.4f' % mse(model, xv, yv))


if __name__ == '__main__':
    main()
