"""Binarised weights with a custom autograd Function: sign forward, clipped identity backward, latent weights clamped in place after each step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
torch.set_num_threads(1)


class BinarizeSTE(Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.where(w >= 0, torch.ones_like(w), -torch.ones_like(w))

    @staticmethod
    def backward(ctx, grad_output):
        (w,) = ctx.saved_tensors
        return grad_output * (w.abs() <= 1).to(grad_output.dtype)


class BinaryLinear(nn.Linear):
    def forward(self, x):
        alpha = self.weight.detach().abs().mean()
        return F.linear(x, BinarizeSTE.apply(self.weight) * alpha, self.bias)


def main():
    w = torch.randn(20, 4)
    x = torch.randn(2000, 20)
    y = (x @ w).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)
    net = nn.Sequential(BinaryLinear(20, 96), nn.BatchNorm1d(96), nn.Hardtanh(), BinaryLinear(96, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(15):
        hits = 0
        for xb, yb in loader:
            out = net(xb)
            loss = F.cross_entropy(out, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for m in net:
                    if isinstance(m, BinaryLinear):
                        m.weight.clamp_(-1, 1)
            hits += (out.argmax(1) == yb).sum().item()
        if epoch % 4 == 2:
            print("epoch %d loss %.4f accuracy %.3f" % (epoch, loss.item(), hits / len(x)))


if __name__ == "__main__":
    main()
