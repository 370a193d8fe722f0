"""discuss.pytorch.org, "One of the differentiated Tensors appears to not have been used in the graph (PINN)"
Symptom: network takes X = (x, t); asking for u_t raises.
EXPECT: raises RuntimeError
TRUTH: The columns are sliced off X and u is computed from X, not from the slices, so there is no path. Make x and t the
leaves and feed cat([x, t]), or differentiate with respect to X and slice the gradient."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, X):
        return self.net(X)


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(model, X, c=0.5):
    x, t = X[:, :1], X[:, 1:]
    u = model(X)  # CULPRIT
    u_t = d(u, t)
    u_x = d(u, x)
    return u_t + c * u_x


model = PINN()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
x0 = torch.rand(64, 1)
ic_in = torch.cat([x0, torch.zeros_like(x0)], 1)
ic_out = torch.sin(3 * x0)

for it in range(100):
    X = torch.rand(128, 2).requires_grad_()
    loss = residual(model, X).pow(2).mean() + (model(ic_in) - ic_out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, loss.item())
print("loss", loss.item())
