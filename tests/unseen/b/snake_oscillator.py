"""Stack Overflow, "PINN for harmonic oscillator gives a solution that is a straight line"
Symptom: residual loss gets stuck, the solution goes straight to zero and ignores the dynamics.
EXPECT: runs
TRUTH: The derivative is taken of u.mean() (not the sum), so each du/dt is divided by N and the second one by N^2: the equation's
derivative terms vanish. Use u.sum() or grad_outputs=ones."""
import torch
import torch.nn as nn

torch.manual_seed(0)
OMEGA = 2.0


def derivative(y, t):
    g, = torch.autograd.grad(y.mean(), t, create_graph=True)  # CULPRIT
    return g


class Oscillator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        # hard initial condition u(0) = 1, u'(0) = 0
        return 1 + t ** 2 * self.f(t)


def physics(model, t):
    u = model(t)
    du = derivative(u, t)
    ddu = derivative(du, t)
    return ddu + OMEGA ** 2 * u


model = Oscillator()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
t = torch.linspace(0, 2, 50).unsqueeze(1).requires_grad_()
for it in range(500):
    loss = physics(model, t).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 200 == 0:
        print(it, loss.item())
err = (model(t) - torch.cos(OMEGA * t)).abs().mean().item()
print("loss", loss.item(), "error to cos", err)
