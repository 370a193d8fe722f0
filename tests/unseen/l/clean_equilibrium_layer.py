"""RIGHT. A deep equilibrium layer that finds its fixed point under no_grad and corrects the gradient in a hook on the state.
TRUTH: one application of the map outside no_grad puts parameters and input on the graph; the hook solves (I - J^T) g = grad with the vector-Jacobian product of a second application at the detached fixed point, so the gradient is the implicit one; it is compared with unrolled iteration at the start.
"""
import torch
import torch.nn as nn


class Cell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.U = nn.Linear(n_in, n_hidden)
        self.W = nn.Parameter(torch.randn(n_hidden, n_hidden) * 0.4 / n_hidden ** 0.5)

    def forward(self, z, x):
        return torch.tanh(z @ self.W.T + self.U(x))


def fixed_point(f, z, tol=1e-9, max_iter=200):
    for _ in range(max_iter):
        z_next = f(z)
        if (z_next - z).norm() < tol * (1 + z.norm()):
            return z_next
        z = z_next
    return z


class EquilibriumLayer(nn.Module):
    def __init__(self, cell, n_hidden):
        super().__init__()
        self.cell = cell
        self.n_hidden = n_hidden

    def forward(self, x):
        with torch.no_grad():
            z0 = torch.zeros(x.shape[0], self.n_hidden, dtype=x.dtype)
            z_star = fixed_point(lambda z: self.cell(z, x), z0)
        z = self.cell(z_star, x)
        if not z.requires_grad:
            return z

        z_in = z.detach().clone().requires_grad_(True)
        f_z = self.cell(z_in, x.detach())

        def backward_hook(grad):
            vjp = lambda g: torch.autograd.grad(f_z, z_in, g, retain_graph=True)[0] + grad
            with torch.no_grad():
                zero = torch.zeros_like(grad)
            return fixed_point(vjp, zero)

        z.register_hook(backward_hook)
        return z


class DEQNet(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.deq = EquilibriumLayer(Cell(n_in, n_hidden), n_hidden)
        self.head = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        return self.head(self.deq(x))


def compare_with_unrolled(net, x, y):
    loss = (net(x) - y).pow(2).mean()
    implicit = torch.autograd.grad(loss, list(net.parameters()))
    z = torch.zeros(x.shape[0], net.deq.n_hidden, dtype=x.dtype)
    for _ in range(120):
        z = net.deq.cell(z, x)
    loss = (net.head(z) - y).pow(2).mean()
    unrolled = torch.autograd.grad(loss, list(net.parameters()))
    return max((a - b).abs().max().item() for a, b in zip(implicit, unrolled))


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    net = DEQNet(3, 12, 1)
    x = torch.randn(128, 3)
    y = torch.sin(x[:, :1]) * x[:, 1:2]
    print("largest difference to unrolled gradient", compare_with_unrolled(net, x[:16], y[:16]))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for it in range(50):
        idx = torch.randint(0, 128, (96,))
        loss = (net(x[idx]) - y[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print(it, round(loss.item(), 4))
    with torch.no_grad():
        print("final", round((net(x) - y).pow(2).mean().item(), 4))


if __name__ == "__main__":
    main()
