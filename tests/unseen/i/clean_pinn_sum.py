"""CORRECT. PINN for u_x = 2 u_t + u: the derivatives are taken of u.sum() with create_graph=True, which for a pointwise net is the same as grad_outputs=ones (asked whether the sum is a mistake).
THREAD: https://github.com/nanditadoloi/PINN/issues/3
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)
device = torch.device('cpu')


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hidden_layer1 = nn.Linear(2, 20)
        self.hidden_layer2 = nn.Linear(20, 20)
        self.hidden_layer3 = nn.Linear(20, 20)
        self.output_layer = nn.Linear(20, 1)

    def forward(self, x, t):
        inputs = torch.cat([x, t], axis=1)
        layer1_out = torch.tanh(self.hidden_layer1(inputs))
        layer2_out = torch.tanh(self.hidden_layer2(layer1_out))
        layer3_out = torch.tanh(self.hidden_layer3(layer2_out))
        return self.output_layer(layer3_out)


def f(x, t, net):
    u = net(x, t)
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    pde = u_x - 2 * u_t - u
    return pde


def boundary(n):
    x_bc = np.random.uniform(low=0.0, high=2.0, size=(n, 1))
    t_bc = np.zeros((n, 1))
    u_bc = 6 * np.exp(-3 * x_bc)
    return [torch.from_numpy(a).float().to(device) for a in (x_bc, t_bc, u_bc)]


def collocation(n):
    x = torch.rand(n, 1, device=device) * 2
    t = torch.rand(n, 1, device=device)
    return x.requires_grad_(), t.requires_grad_()


net = Net().to(device)
mse_cost_function = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 700, gamma=0.3)

for epoch in range(2000):
    optimizer.zero_grad()
    x_bc, t_bc, u_bc = boundary(200)
    mse_u = mse_cost_function(net(x_bc, t_bc), u_bc)

    x_collocation, t_collocation = collocation(200)
    all_zeros = torch.zeros(200, 1)
    f_out = f(x_collocation, t_collocation, net)
    mse_f = mse_cost_function(f_out, all_zeros)

    loss = mse_u + mse_f
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 500 == 499:
        print(epoch, 'Training Loss: %.5f' % loss.item())

with torch.no_grad():
    xs = torch.rand(500, 1) * 2
    ts = torch.rand(500, 1)
    exact = 6 * torch.exp(-3 * xs - 2 * ts)
    print('mean error against 6 exp(-3x - 2t): %.4f' % (net(xs, ts) - exact).abs().mean())
