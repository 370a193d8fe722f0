"""Positive-valued regression with a fused SwiGLU layer whose kernels are numpy code called from an autograd Function.

TRUTH: To save memory the backward kernel writes the gradient of its second input into the very buffer that holds
that input (out=b). Here that input is the output of torch.exp, and ExpBackward keeps its result, the same storage,
for its own backward. The write goes through numpy, so the version counter is not bumped and autograd cannot notice:
the amplitude branch gets grad * grad instead of grad * exp(x), always positive and tiny. No exception; gradients of
all that lies behind the exp are wrong (compare with the plain torch expression or gradcheck) and the branch does
not learn. Fix: write the result to a new array, b = dc * silu. Drawn from linkedin/Liger-Kernel#254.
"""
import numpy as np
import torch
import torch.nn as nn


def swiglu_forward_kernel(a, b):
    sig = 1.0 / (1.0 + np.exp(-a))
    return a * sig * b


def swiglu_backward_kernel(dc, a, b):
    sig = 1.0 / (1.0 + np.exp(-a))
    silu = a * sig
    a = dc * b * (silu * (1.0 - sig) + sig)
    b = np.multiply(dc, silu, out=b)  # CULPRIT
    return a, b


class FusedSiLUMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        return torch.from_numpy(swiglu_forward_kernel(a.detach().numpy(), b.detach().numpy()))

    @staticmethod
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        da, db = swiglu_backward_kernel(dc.contiguous().numpy(), a.detach().numpy(), b.detach().numpy())
        return torch.from_numpy(da), torch.from_numpy(db)


class AmplitudeGLU(nn.Module):
    """silu(W x) gated by a positive, log-linear amplitude."""

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.gate = nn.Linear(n_in, n_hidden)
        self.log_amp = nn.Linear(n_in, n_hidden)
        nn.init.normal_(self.log_amp.weight, std=0.05)
        nn.init.zeros_(self.log_amp.bias)

    def forward(self, x):
        amp = torch.exp(self.log_amp(x))
        return FusedSiLUMul.apply(self.gate(x), amp)


class Net(nn.Module):
    def __init__(self, n_in=5, width=24):
        super().__init__()
        self.glu = AmplitudeGLU(n_in, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.glu(x)).squeeze(-1)


def power_law(n, gen):
    x = torch.rand(n, 5, generator=gen) * 2 - 1
    y = torch.exp(1.2 * x[:, 0] - 0.8 * x[:, 1]) * (1 + x[:, 2]) + 0.3 * x[:, 3] * x[:, 4]
    return x, y


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad > self.patience


def main():
    torch.manual_seed(4)
    gen = torch.Generator().manual_seed(5)
    x, y = power_law(2048, gen)
    xv, yv = power_law(512, gen)
    print(f"target variance {y.var().item():.4f}")
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 25)
    stop = EarlyStopping(patience=8)
    for epoch in range(25):
        net.train()
        perm = torch.randperm(len(x), generator=gen)
        total = 0.0
        for i in range(0, len(x), 64):
            idx = perm[i:i + 64]
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        net.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(net(xv), yv).item()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d}  train {total / len(x):.4f}  val {val:.4f}")
        if stop(val):
            print(f"stopped at epoch {epoch}")
            break
    print(f"best val {stop.best:.4f}")


if __name__ == "__main__":
    main()
