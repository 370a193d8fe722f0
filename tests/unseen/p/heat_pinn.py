"""Physics-informed network for the 1-D heat equation u_t = k u_xx on a rod with cold ends.

TRUTH: u_xx is obtained by differentiating u, not u_x: the residual uses the first derivative twice
(u_t - k u_x instead of u_t - k u_xx), so the network is trained on an advection equation that contradicts the
boundary data. No exception, the graph is there and all the weights get gradient; the residual and boundary losses
level off against each other and the error to the exact solution stays large. Fix: grad(u_x, x).
Drawn from AdityaLab/pinnsformer#2.
"""
# %%
import math

import torch
import torch.nn as nn

torch.manual_seed(1234)
K = 0.3

# %% network


class Net(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x, t):
        return self.net(torch.cat([2 * x - 1, 2 * t - 1], dim=1))


def exact(x, t):
    return torch.sin(math.pi * x) * torch.exp(-K * math.pi ** 2 * t)


def derivative(out, inp):
    return torch.autograd.grad(out, inp, grad_outputs=torch.ones_like(out), create_graph=True)[0]


# %% points
n_col, n_bc, n_ic = 256, 32, 64
x_col = torch.rand(n_col, 1, requires_grad=True)
t_col = torch.rand(n_col, 1, requires_grad=True)

t_bc = torch.rand(n_bc, 1)
x_left, x_right = torch.zeros_like(t_bc), torch.ones_like(t_bc)
x_ic = torch.linspace(0, 1, n_ic).unsqueeze(1)
t_ic = torch.zeros_like(x_ic)

# %% losses
net = Net()
mse = nn.MSELoss()


def pde_residual(x, t):
    u = net(x, t)
    u_x = derivative(u, x)
    u_t = derivative(u, t)
    u_xx = derivative(u, x)  # CULPRIT
    return u_t - K * u_xx


def losses():
    r = pde_residual(x_col, t_col)
    loss_r = mse(r, torch.zeros_like(r))
    left, right = net(x_left, t_bc), net(x_right, t_bc)
    loss_b = mse(left, torch.zeros_like(left)) + mse(right, torch.zeros_like(right))
    loss_i = mse(net(x_ic, t_ic), exact(x_ic, t_ic))
    return loss_r, loss_b, loss_i


def rel_error(n=41):
    xs, ts = torch.meshgrid(torch.linspace(0, 1, n), torch.linspace(0, 1, n), indexing="ij")
    xs, ts = xs.reshape(-1, 1), ts.reshape(-1, 1)
    with torch.no_grad():
        u = net(xs, ts)
    return ((u - exact(xs, ts)).norm() / exact(xs, ts).norm()).item()


# %% train
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.998)
for it in range(801):
    optimizer.zero_grad()
    lr_, lb, li = losses()
    total = lr_ + 5 * lb + 5 * li
    total.backward()
    optimizer.step()
    scheduler.step()
    if it % 100 == 0:
        print(f"it {it:5d}  pde {lr_.item():.3e}  bc {lb.item():.3e}  ic {li.item():.3e}  rel.err {rel_error():.3f}")

# %% probe the middle of the rod
for tt in (0.0, 0.25, 0.5, 1.0):
    with torch.no_grad():
        u = net(torch.full((1, 1), 0.5), torch.full((1, 1), tt)).item()
    print(f"t={tt:.2f}  u(0.5,t) {u:+.4f}  exact {exact(torch.tensor(0.5), torch.tensor(tt)).item():+.4f}")
