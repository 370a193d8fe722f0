"""Bayes-by-backprop regression (Blundell et al.) on a small sensor data set.

Every weight has a gaussian posterior with mean mu and width log(1 + exp(rho)); both
are trained with the ELBO.  The posterior widths are reported before and after.

TRUTH: VariationalPosterior computes sigma from rho once in __init__ and keeps it, so sampling and the KL always use the
initial width: rho is changed by the optimizer but has no effect on the distribution, and the uncertainty stays at its
initial value (the loss also stays far above the optimum). Fix: recompute sigma from rho at every use (property).
Drawn from SaynaEbrahimi/UCB#5 (Bug in optimization of Bayesian (Variational Posterior)).
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)

N_DATA = 256
NOISE = 0.1
PRIOR_SIGMA = 1.0
INIT_RHO = -1.0
EPOCHS = 300
LR = 0.03


class VariationalPosterior:
    def __init__(self, mu, rho):
        self.mu = mu
        self.rho = rho
        self.sigma = torch.log1p(torch.exp(self.rho))  # CULPRIT

    def sample(self):
        return self.mu + self.sigma * torch.randn_like(self.mu)

    def kl(self, prior_sigma):
        var = self.sigma ** 2
        p = prior_sigma ** 2
        return 0.5 * ((var + self.mu ** 2) / p - 1 - torch.log(var / p)).sum()


class BayesianLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        bound = 1.0 / math.sqrt(n_in)
        self.mu_weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-bound, bound))
        self.rho_weight = nn.Parameter(torch.full((n_out, n_in), INIT_RHO))
        self.mu_bias = nn.Parameter(torch.zeros(n_out))
        self.rho_bias = nn.Parameter(torch.full((n_out,), INIT_RHO))
        self.weight = VariationalPosterior(self.mu_weight, self.rho_weight)
        self.bias = VariationalPosterior(self.mu_bias, self.rho_bias)

    def forward(self, x, sample=True):
        if sample:
            return F.linear(x, self.weight.sample(), self.bias.sample())
        return F.linear(x, self.weight.mu, self.bias.mu)

    def kl(self):
        return self.weight.kl(PRIOR_SIGMA) + self.bias.kl(PRIOR_SIGMA)


class BayesianNet(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.l1 = BayesianLinear(1, hidden)
        self.l2 = BayesianLinear(hidden, 1)

    def forward(self, x, sample=True):
        return self.l2(torch.tanh(self.l1(x, sample)), sample)

    def kl(self):
        return self.l1.kl() + self.l2.kl()

    def widths(self):
        with torch.no_grad():
            parts = [layer.sigma.flatten() for m in (self.l1, self.l2) for layer in (m.weight, m.bias)]
            return torch.cat(parts)


def sensor_data(n):
    g = torch.Generator().manual_seed(0)
    x = torch.rand(n, 1, generator=g) * 4 - 2
    y = torch.sin(1.5 * x) + NOISE * torch.randn(n, 1, generator=g)
    return x, y


def elbo_loss(net, x, y, samples=2):
    nll = 0.0
    for _ in range(samples):
        nll = nll + F.mse_loss(net(x), y, reduction="sum") / (2 * NOISE ** 2)
    return nll / samples + net.kl()


def main():
    x, y = sensor_data(N_DATA)
    net = BayesianNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=LR)
    w = net.widths()
    print("posterior width at the start: mean %.4f min %.4f max %.4f" % (w.mean(), w.min(), w.max()))

    for epoch in range(1, EPOCHS + 1):
        optimizer.zero_grad()
        loss = elbo_loss(net, x, y)
        loss.backward(retain_graph=True)
        optimizer.step()
        if epoch % 50 == 0:
            with torch.no_grad():
                fit = F.mse_loss(net(x, sample=False), y).item()
            print("epoch %4d  elbo loss %9.1f  mse of mean net %.4f" % (epoch, loss.item(), fit))

    w = net.widths()
    print("posterior width at the end:   mean %.4f min %.4f max %.4f" % (w.mean(), w.min(), w.max()))
    with torch.no_grad():
        draws = torch.stack([net(x) for _ in range(50)])
    print("predictive std on the training range: %.3f" % draws.std(dim=0).mean().item())


if __name__ == "__main__":
    main()
