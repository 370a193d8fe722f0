"""WRONG. The Gaussian process with the self-written Matern52 kernel has a sensible likelihood in the first iteration, then all kernel parameters are nan and the Cholesky fails; with the RBF kernel the same script works.
TRUTH: on the diagonal the squared distance is 0 and sqrt has an infinite derivative there, which times 0 gives nan; keep it away from zero: dists = sq.clamp_min(1e-12).sqrt().
THREAD: https://github.com/dfm/tinygp/issues/31
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Kernel(nn.Module):
    def __init__(self, dim, scale=1.0, variance=1.0):
        super().__init__()
        inv = math.log(math.expm1(scale))
        self.raw_scale = nn.Parameter(torch.full((dim,), inv))
        self.raw_variance = nn.Parameter(torch.tensor(math.log(math.expm1(variance))))

    @property
    def scale(self):
        return F.softplus(self.raw_scale)

    @property
    def variance(self):
        return F.softplus(self.raw_variance)

    def sq_dist(self, X1, X2):
        diff = X1.unsqueeze(1) / self.scale - X2.unsqueeze(0) / self.scale
        return diff.pow(2).sum(-1)


class RBF(Kernel):
    def forward(self, X1, X2):
        return self.variance * torch.exp(-0.5 * self.sq_dist(X1, X2))


class Matern52(Kernel):
    def forward(self, X1, X2):
        sq = self.sq_dist(X1, X2)
        dists = torch.sqrt(sq)  # CULPRIT
        K = dists * math.sqrt(5)
        return self.variance * (1.0 + K + K ** 2 / 3.0) * torch.exp(-K)


class GP(nn.Module):
    def __init__(self, kernel, X, y, noise=0.1):
        super().__init__()
        self.kernel = kernel
        self.raw_noise = nn.Parameter(torch.tensor(math.log(noise)))
        self.mean = nn.Parameter(y.mean().clone())
        self.X, self.y = X, y

    def factor(self):
        n = self.X.shape[0]
        K = self.kernel(self.X, self.X) + (self.raw_noise.exp() + 1e-4) * torch.eye(n)
        return torch.linalg.cholesky(K)

    def neg_log_likelihood(self):
        L = self.factor()
        r = (self.y - self.mean).unsqueeze(1)
        alpha = torch.linalg.solve_triangular(L, r, upper=False)
        n = self.X.shape[0]
        return (0.5 * alpha.pow(2).sum() + L.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n

    @torch.no_grad()
    def predict(self, Xs):
        L = self.factor()
        Ks = self.kernel(self.X, Xs)
        A = torch.linalg.solve_triangular(L, Ks, upper=False)
        b = torch.linalg.solve_triangular(L, (self.y - self.mean).unsqueeze(1), upper=False)
        mean = self.mean + (A.T @ b).squeeze(1)
        var = self.kernel.variance - A.pow(2).sum(0)
        return mean, var


def objective(X):
    return torch.sin(3 * X[:, 0]) + 0.5 * torch.cos(2 * X[:, 1]) + 0.1 * X[:, 2]


def fit(gp, steps, lr):
    optimizer = torch.optim.Adam(gp.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 50], gamma=0.5)
    for it in range(steps):
        loss = gp.neg_log_likelihood()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 15 == 0:
            print(it, "nll", round(loss.item(), 4), "scale", [round(v, 3) for v in gp.kernel.scale.tolist()])


if __name__ == "__main__":
    torch.manual_seed(0)
    X = torch.rand(60, 3) * 4 - 2
    y = objective(X) + 0.05 * torch.randn(60)
    Xs = torch.rand(100, 3) * 4 - 2
    for cls in (RBF, Matern52):
        gp = GP(cls(3), X, y)
        print(cls.__name__)
        fit(gp, 60, 0.1)
        mean, var = gp.predict(Xs)
        print("rmse", round((mean - objective(Xs)).pow(2).mean().sqrt().item(), 4), "min var", round(var.min().item(), 5))
