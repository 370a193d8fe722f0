"""Binarised network with a straight-through custom autograd Function and weights clipped in place after each step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= ctx.threshold), None


class BinaryLinear(nn.Linear):
    def forward(self, x):
        w = BinarizeSTE.apply(self.weight, 1.0)
        return F.linear(x, w, self.bias) / self.in_features ** 0.5


class BinaryMLP(nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.fc1, self.bn1 = BinaryLinear(d, h), nn.BatchNorm1d(h)
        self.fc2, self.bn2 = BinaryLinear(h, h), nn.BatchNorm1d(h)
        self.out = nn.Linear(h, c)

    def forward(self, x):
        x = BinarizeSTE.apply(self.bn1(self.fc1(x)), 1.0)
        x = BinarizeSTE.apply(self.bn2(self.fc2(x)), 1.0)
        return self.out(x)

    @torch.no_grad()
    def clip_weights(self):
        for m in self.modules():
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)


def make(n):
    x = torch.randn(n, 20)
    y = ((x[:, :5].sum(1) > 0).long() + 2 * (x[:, 5:10].sum(1) > 0).long())
    return x, y


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(TensorDataset(*make(1600)), batch_size=64, shuffle=True)
    xt, yt = make(500)
    net = BinaryMLP(20, 96, 4)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12 * len(loader))
    for epoch in range(12):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            net.clip_weights()
            sched.step()
        net.eval()
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        if epoch % 3 == 2:
            print("epoch %d loss %.3f test acc %.3f" % (epoch, loss.item(), acc))
