"""discuss.pytorch.org, "Custom autograd.Function for Swish learns much worse than x * sigmoid(x)"
Symptom: forward identical, network with the Function stays on a bad plateau.
EXPECT: runs
TRUTH: backward returns the local derivative without multiplying it by grad_output, so the chain rule is cut. Return grad_output * derivative."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SwishFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        local = s * (1 + x * (1 - s))
        return local  # CULPRIT


class Swish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)


def network():
    return nn.Sequential(nn.Linear(4, 32), Swish(), nn.Linear(32, 32), Swish(), nn.Linear(32, 1))


x = torch.randn(256, 4)
y = (x[:, :1] * x[:, 1:2]).sin()
net = network()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(200):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
print("loss", loss.item())
