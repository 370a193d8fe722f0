"""WRONG. This TRPO behaves like plain gradient ascent: the curvature along the search direction is exactly the damping coefficient, the printed kl in hessian_vector_product is always zero and the full step overshoots max_kl by far.
TRUTH: gaussian_kl is called with the same policy as old and new and the old distribution is not detached, so the KL is identically zero as a function of the parameters and its Hessian vanishes; compute the old parameters without gradient (mu_old.detach(), std_old.detach()).
THREAD: https://github.com/dongminlee94/deep_rl/issues/5
"""
import copy
import torch
import torch.nn as nn
from torch.distributions import Normal


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), -1.0))

    def forward(self, obs):
        mu = self.net(obs)
        return mu, self.log_std.exp().expand_as(mu)

    def log_prob(self, obs, act):
        mu, std = self(obs)
        return Normal(mu, std).log_prob(act).sum(dim=1)


class Agent:
    def __init__(self, obs_dim, act_dim, delta=0.01, damping_coeff=0.1, cg_iters=10, backtrack_iters=10):
        self.policy = GaussianPolicy(obs_dim, act_dim)
        self.vf = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, 1))
        self.vf_optimizer = torch.optim.Adam(self.vf.parameters(), lr=1e-2)
        self.delta, self.damping_coeff = delta, damping_coeff
        self.cg_iters, self.backtrack_iters = cg_iters, backtrack_iters

    @staticmethod
    def flat(tensors):
        return torch.cat([t.reshape(-1) for t in tensors])

    def gaussian_kl(self, old_policy, new_policy, obs):
        """KL(old || new), mean over the states"""
        mu_old, std_old = old_policy(obs)  # CULPRIT
        mu, std = new_policy(obs)
        kl = (std / std_old).log() + (std_old.pow(2) + (mu_old - mu).pow(2)) / (2.0 * std.pow(2)) - 0.5
        return kl.sum(-1).mean()

    def hessian_vector_product(self, obs, p):
        params = list(self.policy.parameters())
        kl = self.gaussian_kl(old_policy=self.policy, new_policy=self.policy, obs=obs)
        kl_grad = self.flat(torch.autograd.grad(kl, params, create_graph=True))
        kl_grad_p = (kl_grad * p).sum()
        kl_hessian = self.flat(torch.autograd.grad(kl_grad_p, params))
        return kl_hessian + p * self.damping_coeff

    def conjugate_gradient(self, obs, b):
        x = torch.zeros_like(b)
        r, p = b.clone(), b.clone()
        rdotr = torch.dot(r, r)
        for _ in range(self.cg_iters):
            Ap = self.hessian_vector_product(obs, p)
            alpha = rdotr / (torch.dot(p, Ap) + 1e-8)
            x += alpha * p
            r -= alpha * Ap
            new_rdotr = torch.dot(r, r)
            if new_rdotr < 1e-10:
                break
            p = r + new_rdotr / rdotr * p
            rdotr = new_rdotr
        return x

    def train_model(self, obs, act, ret):
        v = self.vf(obs).squeeze(1)
        adv = ret - v.detach()
        adv = (adv - adv.mean()) / adv.std()
        vf_loss = (v - ret).pow(2).mean()
        self.vf_optimizer.zero_grad()
        vf_loss.backward()
        self.vf_optimizer.step()

        params = list(self.policy.parameters())
        old_policy = copy.deepcopy(self.policy)
        with torch.no_grad():
            old_log_p = old_policy.log_prob(obs, act)

        def surrogate():
            return (torch.exp(self.policy.log_prob(obs, act) - old_log_p) * adv).mean()

        loss_old = surrogate()
        g = self.flat(torch.autograd.grad(loss_old, params)).detach()
        direction = self.conjugate_gradient(obs, g)
        gHg = (self.hessian_vector_product(obs, direction) * direction).sum()
        full_step = torch.sqrt(2 * self.delta / (gHg + 1e-8)) * direction

        curvature = (gHg / direction.pow(2).sum()).item()
        theta = nn.utils.parameters_to_vector(params).detach().clone()
        kl_full, accepted = None, 0.0
        for i in range(self.backtrack_iters):
            frac = 0.5 ** i
            nn.utils.vector_to_parameters(theta + frac * full_step, params)
            with torch.no_grad():
                kl = self.gaussian_kl(old_policy, self.policy, obs).item()
                improve = (surrogate() - loss_old).item()
            kl_full = kl if kl_full is None else kl_full
            if kl <= 1.5 * self.delta and improve > 0:
                accepted = frac
                break
        else:
            nn.utils.vector_to_parameters(theta, params)
        return dict(curvature=curvature, kl_full_step=kl_full, accepted=accepted, vf_loss=vf_loss.item())


def collect(agent, n=400):
    obs = torch.randn(n, 3) * torch.tensor([3.0, 1.0, 0.3])
    with torch.no_grad():
        mu, std = agent.policy(obs)
        act = mu + std * torch.randn_like(mu)
    target = torch.stack([0.5 * obs[:, 0], obs[:, 1] - obs[:, 2]], dim=1)
    return obs, act, -(act - target).pow(2).sum(dim=1)


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = Agent(3, 2)
    for it in range(30):
        obs, act, ret = collect(agent)
        stats = agent.train_model(obs, act, ret)
        if it % 6 == 0:
            print(it, "return", round(ret.mean().item(), 3), {k: round(v, 5) for k, v in stats.items()})
