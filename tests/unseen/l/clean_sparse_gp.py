"""RIGHT. Sparse Gaussian process (variational free energy bound) with learned inducing points, jitter and noise written in place on the diagonals and a cache for prediction.
TRUTH: the in-place writes hit fresh results that no backward formula has saved; the cache is built once after training under no_grad and dropped by train(); all parameters are registered; the bound contains the trace term.
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseGP(nn.Module):
    def __init__(self, X, y, m, jitter=1e-6):
        super().__init__()
        self.register_buffer("X", X)
        self.register_buffer("y", y)
        self.Z = nn.Parameter(X[torch.randperm(X.shape[0])[:m]].clone())
        self.raw_scale = nn.Parameter(torch.zeros(X.shape[1]))
        self.raw_var = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(-2.0))
        self.jitter = jitter
        self._cache = None

    def train(self, mode=True):
        self._cache = None
        return super().train(mode)

    @property
    def variance(self):
        return F.softplus(self.raw_var)

    def kernel(self, A, B):
        scale = F.softplus(self.raw_scale)
        A, B = A / scale, B / scale
        sq = A.pow(2).sum(1, keepdim=True) + B.pow(2).sum(1) - 2 * A @ B.T
        return self.variance * torch.exp(-0.5 * sq.clamp_min(0.0))

    def factors(self):
        noise = self.log_noise.exp()
        Kuu = self.kernel(self.Z, self.Z)
        Kuu.diagonal().add_(self.jitter)
        L = torch.linalg.cholesky(Kuu)
        A = torch.linalg.solve_triangular(L, self.kernel(self.Z, self.X), upper=False) / noise.sqrt()
        B = A @ A.T
        B.diagonal().add_(1.0)
        LB = torch.linalg.cholesky(B)
        c = torch.linalg.solve_triangular(LB, A @ self.y.unsqueeze(1), upper=False) / noise.sqrt()
        return noise, L, A, LB, c

    def neg_bound(self):
        n = self.X.shape[0]
        noise, L, A, LB, c = self.factors()
        bound = -0.5 * n * math.log(2 * math.pi) - LB.diagonal().log().sum() - 0.5 * n * noise.log()
        bound = bound - 0.5 * self.y.pow(2).sum() / noise + 0.5 * c.pow(2).sum()
        bound = bound - 0.5 * n * self.variance / noise + 0.5 * A.pow(2).sum()
        return -bound / n

    @torch.no_grad()
    def predict(self, Xs):
        if self._cache is None:
            self._cache = self.factors()
        noise, L, A, LB, c = self._cache
        t1 = torch.linalg.solve_triangular(L, self.kernel(self.Z, Xs), upper=False)
        t2 = torch.linalg.solve_triangular(LB, t1, upper=False)
        mean = (t2.T @ c).squeeze(1)
        var = self.variance - t1.pow(2).sum(0) + t2.pow(2).sum(0)
        return mean, var


def f(X):
    return torch.sin(2 * X[:, 0]) * torch.cos(X[:, 1])


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    X = torch.rand(200, 2) * 4 - 2
    y = f(X) + 0.1 * torch.randn(200)
    Xs = torch.rand(100, 2) * 4 - 2
    gp = SparseGP(X, y, m=25)
    optimizer = torch.optim.Adam(gp.parameters(), lr=0.05)
    gp.train()
    for it in range(80):
        loss = gp.neg_bound()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 20 == 0:
            print(it, "negative bound per point", round(loss.item(), 4))
    gp.eval()
    mean, var = gp.predict(Xs)
    print("rmse", round((mean - f(Xs)).pow(2).mean().sqrt().item(), 4), "noise sigma", round(gp.log_noise.exp().sqrt().item(), 4))
    print("inside two sigma", round(((mean - f(Xs)).abs() < 2 * (var + 1e-9).sqrt()).double().mean().item(), 3))


if __name__ == "__main__":
    main()
