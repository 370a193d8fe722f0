"""Stack Overflow, "Custom Function with two inputs: gradcheck fails, training is strange"
Symptom: gate and value have the same shape, shapes are accepted, the loss ends higher than the plain formula's.
EXPECT: runs
TRUTH: backward must return the gradients in the order of forward's arguments (value, gate); the two are swapped and nobody
notices since the shapes agree. Return grad_value, grad_gate."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class GLUFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, gate):
        sig = gate.sigmoid()
        ctx.save_for_backward(value, sig)
        return value * sig

    @staticmethod
    def backward(ctx, g):
        value, sig = ctx.saved_tensors
        grad_value = g * sig
        grad_gate = g * value * sig * (1 - sig)
        return grad_gate, grad_value  # CULPRIT


class GLUBlock(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.proj = nn.Linear(i, 2 * o)

    def forward(self, x):
        v, g = self.proj(x).chunk(2, dim=-1)
        return GLUFunction.apply(v, g)


net = nn.Sequential(GLUBlock(6, 24), GLUBlock(24, 24), nn.Linear(24, 1))
x = torch.randn(300, 6)
y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(250):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
