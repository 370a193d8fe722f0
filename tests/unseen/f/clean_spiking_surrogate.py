"""CORRECT. A spiking layer whose forward is a hard step (zero derivative) and whose custom Function gives a surrogate
gradient in backward, including the gradient of the learnable width alpha; the membrane is reset with a detached spike on
purpose. Accuracy rises.
THREAD: https://github.com/fangwei123456/spikingjelly/issues/280 (customized surrogate gradient)
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ste(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, alpha = ctx.saved_tensors
        inside = (x.abs() <= alpha).to(x)
        grad_x = grad_output * (1 - x.abs() / alpha) * inside / alpha
        grad_alpha = (grad_output * x.sign() * (x.abs() / alpha ** 2) * inside * 0.1).sum()
        return grad_x, grad_alpha


class IFNode(nn.Module):
    def __init__(self, threshold=1.0):
        super().__init__()
        self.threshold = threshold
        self.alpha = nn.Parameter(torch.tensor(1.0))
        self.v = None

    def reset(self):
        self.v = None

    def forward(self, x):
        self.v = x if self.v is None else self.v + x
        spike = ste.apply(self.v - self.threshold, self.alpha)
        self.v = self.v * (1. - spike.detach())
        return spike


class SNN(nn.Module):
    def __init__(self, T=6):
        super().__init__()
        self.T = T
        self.fc1 = nn.Linear(16, 64)
        self.if1 = IFNode()
        self.fc2 = nn.Linear(64, 3)
        self.if2 = IFNode()

    def forward(self, x):
        rate = 0.
        for m in (self.if1, self.if2):
            m.reset()
        for _ in range(self.T):
            rate = rate + self.if2(self.fc2(self.if1(self.fc1(x))))
        return rate / self.T


def batch(n=64):
    y = torch.randint(0, 3, (n,))
    return torch.randn(n, 16) * 0.5 + CENTERS[y], y


if __name__ == '__main__':
    torch.manual_seed(0)
    CENTERS = torch.randn(3, 16) * 0.5
    net = SNN()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    losses, accs = [], []
    for it in range(1, 301):
        x, y = batch()
        out = net(x)
        loss = F.mse_loss(out, F.one_hot(y, 3).float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        accs.append((out.argmax(1) == y).float().mean().item())
        if it % 50 == 0:
            print(f'iter {it} loss {sum(losses[-50:]) / 50:.4f} acc {sum(accs[-50:]) / 50:.3f} alpha {net.if1.alpha.item():.3f}')
