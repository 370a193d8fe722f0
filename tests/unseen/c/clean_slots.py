"""Stack Overflow, "Filling a zeros tensor slice by slice: out[:, t] = h, does autograd follow?"
Symptom: none, asker expects the in-place error.
EXPECT: runs
TRUTH: Correct. Writing into a fresh buffer that nothing has saved is tracked (CopySlices), the gradient goes to each written h."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self, d=4, h=24):
        super().__init__()
        self.cell = nn.GRUCell(1, h)
        self.init = nn.Linear(d, h)
        self.out = nn.Linear(h, 1)

    def forward(self, ctx, steps):
        h = torch.tanh(self.init(ctx))
        y = ctx.new_zeros(len(ctx), 1)
        path = ctx.new_zeros(len(ctx), steps)
        for t in range(steps):
            h = self.cell(y, h)
            y = self.out(h)
            path[:, t] = y.squeeze(1)
        return path


def curves(n=128, steps=10):
    c = torch.randn(n, 4)
    t = torch.linspace(0, 2, steps)
    return c, c[:, :1] * torch.sin(t + c[:, 1:2] * 0.3)


ctx, target = curves()
model = Decoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(120):
    loss = (model(ctx, 10) - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 40 == 0:
        print(it, loss.item())
print("loss", loss.item(), "variance", target.var().item())
