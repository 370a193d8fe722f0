"""GitHub issue (quantisation repo), "Custom rounding Function returns grad unchanged, clamp mask by hand"
Symptom: none, gradcheck fails of course.
EXPECT: runs
TRUTH: Correct. The straight-through rounding is meant to have a false derivative; master weights in float are trained through it."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward((x >= lo) & (x <= hi))
        return x.clamp(lo, hi).round()

    @staticmethod
    def backward(ctx, g):
        inside, = ctx.saved_tensors
        return g * inside, None, None


class QLinear(nn.Linear):
    def __init__(self, i, o, bits=4):
        super().__init__(i, o)
        self.q = 2 ** (bits - 1) - 1

    def quantised(self):
        scale = (self.weight.detach().abs().max() / self.q).clamp_min(1e-8)
        return RoundSTE.apply(self.weight / scale, -self.q, self.q) * scale

    def forward(self, x):
        return F.linear(x, self.quantised(), self.bias)


net = nn.Sequential(QLinear(8, 48), nn.ReLU(), QLinear(48, 3))
x = torch.randn(300, 8)
y = x[:, :3].argmax(1)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(150):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
print("loss", loss.item(), "levels", net[2].quantised().unique().numel())
