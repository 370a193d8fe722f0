# kind: gradcheck_float32
"""Unrolled ISTA for sparse coding; its shrinkage is an own autograd function, verified first."""
import torch
from torch import nn
from torch.autograd import Function, gradcheck


class SoftThreshold(Function):
    """sign(x) * max(|x| - t, 0) with gradients for both arguments."""

    @staticmethod
    def forward(ctx, x, t):
        out = torch.sign(x) * (x.abs() - t).clamp(min=0)
        ctx.save_for_backward(torch.sign(out))
        ctx.t_shape = t.shape
        return out

    @staticmethod
    def backward(ctx, grad):
        (sign,) = ctx.saved_tensors
        grad_x = grad * sign.abs()
        grad_t = (-grad * sign).sum_to_size(ctx.t_shape)
        return grad_x, grad_t


def make_inputs(shapes, **options):
    """Random tensors that want gradients; the values keep away from the kinks."""
    x_shape, t_shape = shapes
    steps = torch.linspace(-2.0, 2.0, x_shape.numel(), **options)
    t = torch.full(t_shape, 0.31, **options)
    return steps.view(x_shape).requires_grad_(), t.requires_grad_()


def verify(fn, shapes):
    inputs = make_inputs(shapes)  # CULPRIT
    assert gradcheck(fn, inputs)
    print("gradients of", fn.__self__.__name__, "verified")


class LISTA(nn.Module):
    def __init__(self, signal, codes, layers):
        super().__init__()
        self.encode = nn.Linear(signal, codes, bias=False)
        self.lateral = nn.Linear(codes, codes, bias=False)
        self.thresholds = nn.ParameterList(nn.Parameter(torch.full((codes,), 0.1)) for _ in range(layers))

    def forward(self, y):
        drive = self.encode(y)
        z = SoftThreshold.apply(drive, self.thresholds[0])
        for t in self.thresholds[1:]:
            z = SoftThreshold.apply(drive + self.lateral(z), t)
        return z


def sparse_signals(n, dictionary):
    codes = torch.randn(n, dictionary.size(0)) * (torch.rand(n, dictionary.size(0)) < 0.15)
    return codes @ dictionary, codes


def main():
    torch.manual_seed(0)
    verify(SoftThreshold.apply, (torch.Size([3, 4]), torch.Size([4])))
    dictionary = nn.functional.normalize(torch.randn(24, 16), dim=1)
    model = LISTA(16, 24, layers=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(200):
        y, codes = sparse_signals(128, dictionary)
        loss = nn.functional.mse_loss(model(y), codes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 199:
            print(f"step {step:3d}  code error {loss.item():.4f}")


if __name__ == "__main__":
    main()
