"""CORRECT. SAC policy update: loss_pi = (alpha * logp_pi - q_pi).mean() (asked whether the signs are wrong; it is gradient ascent written as descent), Q parameters frozen for the policy step and thawed after it, targets under no_grad, polyak by in-place ops.
THREAD: https://github.com/openai/spinningup/issues/304
"""
import itertools
from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.normal import Normal

torch.manual_seed(0)


def mlp(sizes):
    layers = []
    for j in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[j], sizes[j + 1]), nn.ReLU() if j < len(sizes) - 2 else nn.Identity()]
    return nn.Sequential(*layers)


class SquashedGaussianMLPActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.net = mlp([obs_dim, hidden, hidden])
        self.mu_layer = nn.Linear(hidden, act_dim)
        self.log_std_layer = nn.Linear(hidden, act_dim)

    def forward(self, obs, deterministic=False):
        h = F.relu(self.net(obs))
        mu = self.mu_layer(h)
        std = torch.exp(torch.clamp(self.log_std_layer(h), -20, 2))
        pi_distribution = Normal(mu, std)
        pi_action = mu if deterministic else pi_distribution.rsample()
        logp_pi = pi_distribution.log_prob(pi_action).sum(axis=-1)
        logp_pi -= (2 * (0.6931 - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
        return torch.tanh(pi_action), logp_pi


class MLPActorCritic(nn.Module):
    def __init__(self, obs_dim=3, act_dim=1, hidden=32):
        super().__init__()
        self.pi = SquashedGaussianMLPActor(obs_dim, act_dim, hidden)
        self.q1 = mlp([obs_dim + act_dim, hidden, hidden, 1])
        self.q2 = mlp([obs_dim + act_dim, hidden, hidden, 1])


ac = MLPActorCritic()
ac_targ = deepcopy(ac)
for p in ac_targ.parameters():
    p.requires_grad = False
q_params = list(itertools.chain(ac.q1.parameters(), ac.q2.parameters()))
pi_optimizer = torch.optim.Adam(ac.pi.parameters(), lr=2e-3)
q_optimizer = torch.optim.Adam(q_params, lr=3e-3)
gamma, polyak, alpha = 0.5, 0.98, 0.05


def best(o):
    return torch.tanh(o[:, :1] - 0.5 * o[:, 1:2])


def replay(n=64):
    o, o2 = torch.randn(n, 3), torch.randn(n, 3)
    a = torch.rand(n, 1) * 2 - 1
    return o, a, -(a - best(o)).pow(2).squeeze(1), o2


def q(net, o, a):
    return net(torch.cat([o, a], dim=-1)).squeeze(-1)


for t in range(600):
    o, a, r, o2 = replay()
    with torch.no_grad():
        a2, logp_a2 = ac.pi(o2)
        q_pi_targ = torch.min(q(ac_targ.q1, o2, a2), q(ac_targ.q2, o2, a2))
        backup = r + gamma * (q_pi_targ - alpha * logp_a2)
    loss_q = ((q(ac.q1, o, a) - backup) ** 2).mean() + ((q(ac.q2, o, a) - backup) ** 2).mean()
    q_optimizer.zero_grad()
    loss_q.backward()
    q_optimizer.step()

    for p in q_params:
        p.requires_grad = False
    pi, logp_pi = ac.pi(o)
    q_pi = torch.min(q(ac.q1, o, pi), q(ac.q2, o, pi))
    loss_pi = (alpha * logp_pi - q_pi).mean()
    pi_optimizer.zero_grad()
    loss_pi.backward()
    pi_optimizer.step()
    for p in q_params:
        p.requires_grad = True

    with torch.no_grad():
        for p, p_targ in zip(ac.parameters(), ac_targ.parameters()):
            p_targ.data.mul_(polyak)
            p_targ.data.add_((1 - polyak) * p.data)
    if t % 150 == 149:
        with torch.no_grad():
            o = torch.randn(500, 3)
            err = (ac.pi(o, True)[0] - best(o)).abs().mean()
        print('t %d LossQ %.4f LossPi %.4f error of the action %.3f' % (t + 1, loss_q.item(), loss_pi.item(), err))
