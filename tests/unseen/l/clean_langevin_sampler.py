"""RIGHT. Langevin sampling of a Bayesian linear regression with an own optimizer, many chains in one parameter, noise added in place to the weights, burn-in and collected samples.
TRUTH: the energies of the chains are summed, so each chain gets its own gradient; gradients of the (rescaled) negative log posterior are taken, the update is -lr/2 * grad + sqrt(lr) * noise under no_grad, samples are cloned before they are stored; mean and spread are compared with the exact posterior.
"""
import math
import torch
import torch.nn as nn


class SGLD(torch.optim.Optimizer):
    """grad has to be the gradient of the negative log posterior of the whole data set"""

    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr = group["lr"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.add_(p.grad, alpha=-0.5 * lr)
                p.add_(torch.randn_like(p), alpha=math.sqrt(lr))
        return loss


class BayesLinear(nn.Module):
    def __init__(self, chains, dim, noise_sigma, prior_sigma):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(chains, dim))
        self.noise_sigma, self.prior_sigma = noise_sigma, prior_sigma

    def forward(self, x):
        return x @ self.w.T

    def neg_log_posterior(self, x, y, n_total):
        scale = n_total / x.shape[0]
        nll = 0.5 * ((y.unsqueeze(1) - self(x)) / self.noise_sigma).pow(2).sum() * scale
        prior = 0.5 * (self.w / self.prior_sigma).pow(2).sum()
        return nll + prior


def exact_posterior(x, y, noise_sigma, prior_sigma):
    precision = x.T @ x / noise_sigma ** 2 + torch.eye(x.shape[1]) / prior_sigma ** 2
    cov = torch.linalg.inv(precision)
    return cov @ (x.T @ y) / noise_sigma ** 2, cov.diagonal().sqrt()


def sample(model, x, y, lr, steps, burn_in, thin):
    opt = SGLD(model.parameters(), lr)
    kept = []
    for it in range(steps):
        def closure():
            opt.zero_grad()
            energy = model.neg_log_posterior(x, y, x.shape[0])
            energy.backward()
            return energy.detach()

        opt.step(closure)
        if it >= burn_in and it % thin == 0:
            kept.append(model.w.detach().clone())
    return torch.cat(kept)


def main():
    torch.manual_seed(0)
    noise_sigma, prior_sigma, n, dim = 0.5, 1.0, 80, 3
    x = torch.randn(n, dim)
    y = x @ torch.tensor([1.0, -0.5, 0.2]) + noise_sigma * torch.randn(n)
    mean, std = exact_posterior(x, y, noise_sigma, prior_sigma)
    model = BayesLinear(32, dim, noise_sigma, prior_sigma)
    samples = sample(model, x, y, lr=8e-4, steps=300, burn_in=60, thin=4)
    print("samples", tuple(samples.shape))
    print("exact mean", [round(v, 3) for v in mean.tolist()], "sampled", [round(v, 3) for v in samples.mean(0).tolist()])
    print("exact std ", [round(v, 3) for v in std.tolist()], "sampled", [round(v, 3) for v in samples.std(0).tolist()])
    with torch.no_grad():
        pred = x[:5] @ samples.T
        print("predictive std of five points", [round(v, 3) for v in pred.std(dim=1).tolist()])


if __name__ == "__main__":
    main()
