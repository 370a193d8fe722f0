"""discuss.pytorch.org, "PINN with a frozen boundary net, second derivatives and an input that requires grad"
Symptom: none, asker wonders why x.grad fills up.
EXPECT: runs
TRUTH: Correct. create_graph is used for both derivatives; the boundary condition is built in by multiplication."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Solution(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return x * (1 - x) * self.f(x)


def laplace(u, x):
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    return torch.autograd.grad(du.sum(), x, create_graph=True)[0]


def source(x):
    return -(math.pi ** 2) * torch.sin(math.pi * x)


model = Solution()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 300)
for it in range(300):
    x = torch.rand(64, 1).requires_grad_()
    loss = (laplace(model(x), x) - source(x)).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    sched.step()
    if it % 100 == 0:
        print(it, loss.item())
grid = torch.linspace(0, 1, 50).unsqueeze(1)
print("loss", loss.item(), "error", (model(grid) - torch.sin(math.pi * grid)).abs().max().item())
