"""Deep-equilibrium graph layer: fixed point found without a graph, gradient replaced by the implicit one in a hook.

TRUTH: correct: The fixed-point iteration runs under no_grad; one more application of the cell re-attaches the
parameters, and a hook on its output replaces the incoming gradient g by the solution of v = g + (df/dz)^T v, found
by a second fixed-point iteration on vector-Jacobian products at the detached equilibrium (retain_graph is needed
for that). So the gradient with respect to the parameters is the implicit-function one, checked against unrolling
at the start. The vjp calls use a second evaluation of the cell at a detached leaf, so the hook does not call itself.
The recurrent weight is divided by its norm bound, which keeps the map a contraction.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Cell(nn.Module):
    def __init__(self, n_in, dim, bound=0.8):
        super().__init__()
        self.w = nn.Parameter(0.3 * torch.randn(dim, dim) / dim ** 0.5)
        self.inject = nn.Linear(n_in, dim)
        self.bound = bound

    def forward(self, z, x, adj):
        w = self.w * (self.bound / self.w.norm().clamp(min=self.bound))
        return torch.tanh(adj @ z @ w + self.inject(x))


def fixed_point(f, z, tol=1e-5, max_iter=60):
    for _ in range(max_iter):
        nxt = f(z)
        if (nxt - z).norm() < tol * (1 + z.norm()):
            return nxt
        z = nxt
    return z


class DEQ(nn.Module):
    def __init__(self, cell, dim):
        super().__init__()
        self.cell = cell
        self.dim = dim

    def forward(self, x, adj):
        with torch.no_grad():
            z = fixed_point(lambda u: self.cell(u, x, adj), torch.zeros(len(x), self.dim))
        z = self.cell(z, x, adj)
        if not torch.is_grad_enabled():
            return z

        z0 = z.detach().requires_grad_(True)
        f0 = self.cell(z0, x, adj)

        def implicit(grad):
            def vjp(v):
                return torch.autograd.grad(f0, z0, v, retain_graph=True)[0] + grad
            return fixed_point(vjp, grad)

        z.register_hook(implicit)
        return z


class Classifier(nn.Module):
    def __init__(self, n_in, dim, classes):
        super().__init__()
        self.deq = DEQ(Cell(n_in, dim), dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x, adj):
        return self.head(self.deq(x, adj))

    def unrolled(self, x, adj, n=60):
        z = torch.zeros(len(x), self.deq.dim)
        for _ in range(n):
            z = self.deq.cell(z, x, adj)
        return self.head(z)


def chains(n_chains=40, length=8, dim=6, seed=0):
    """Chain graphs whose class is written on the first node only."""
    g = torch.Generator().manual_seed(seed)
    n = n_chains * length
    y = torch.randint(0, 2, (n_chains,), generator=g)
    x = 0.2 * torch.randn(n, dim, generator=g)
    first = torch.arange(n_chains) * length
    x[first, 0] += 2.0 * (2 * y.float() - 1)
    adj = torch.zeros(n, n)
    idx = torch.arange(n - 1)
    idx = idx[(idx + 1) % length != 0]
    adj[idx + 1, idx] = 1.0
    adj[idx, idx + 1] = 1.0
    deg = adj.sum(1)
    adj = adj / (deg.unsqueeze(1) * deg.unsqueeze(0)).sqrt()
    return x, adj, y.repeat_interleave(length)


def compare_gradients(model, x, adj, y):
    params = list(model.parameters())
    g1 = torch.autograd.grad(F.cross_entropy(model(x, adj), y), params)
    g2 = torch.autograd.grad(F.cross_entropy(model.unrolled(x, adj), y), params)
    return max(((a - b).norm() / (b.norm() + 1e-12)).item() for a, b in zip(g1, g2))


def main():
    torch.manual_seed(0)
    x, adj, y = chains()
    xv, adjv, yv = chains(seed=1)
    model = Classifier(x.size(1), 24, 2)
    print(f"implicit against unrolled gradient, relative difference {compare_gradients(model, x, adj, y):.1e}")
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for ep in range(81):
        loss = F.cross_entropy(model(x, adj), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if ep % 10 == 0:
            with torch.no_grad():
                acc = (model(xv, adjv).argmax(1) == yv).float().mean().item()
            print(f"epoch {ep:3d}  loss {loss.item():.4f}  val acc {acc:.3f}")


if __name__ == "__main__":
    main()
