"""Discriminator with a variational bottleneck (as in VAIL), expert vs. policy samples.

The encoder maps state-action vectors to a gaussian code z, the estimate is made from a
sample of z, and the KL to N(0, 1) is held below a target with an adaptive beta.

TRUTH: z is drawn with torch.normal(mu, sigma), which is not reparameterized: the gradient it passes to mu and sigma is zero,
so the encoder is trained by the KL term only and the discriminator cannot tell expert from policy (loss ~ 2 ln 2 = 1.386).
Fix: z = mu + sigma * torch.randn_like(mu). Drawn from Unity-Technologies/ml-agents#5546 (Fix VAIL), see also
pytorch/pytorch#4620.
"""
from typing import NamedTuple

import torch
from torch import nn


class Settings(NamedTuple):
    obs_size: int = 10
    hidden_units: int = 48
    z_size: int = 8
    learning_rate: float = 3e-3
    mutual_information: float = 0.5
    initial_beta: float = 0.0
    alpha: float = 0.0005
    batch: int = 64
    updates: int = 600
    seed: int = 21


class ExperienceBuffer:
    """expert: coordinates correlated in pairs; policy: the same marginals, independent"""

    def __init__(self, obs_size, seed):
        self.obs_size = obs_size
        self.gen = torch.Generator().manual_seed(seed)

    def expert(self, n):
        half = torch.randn(n, self.obs_size // 2, generator=self.gen)
        other = 0.95 * half + 0.31 * torch.randn(n, self.obs_size // 2, generator=self.gen)
        return torch.cat([half, other], dim=1)

    def policy(self, n):
        return torch.randn(n, self.obs_size, generator=self.gen)


class DiscriminatorNetwork(nn.Module):
    EPSILON = 1e-7

    def __init__(self, settings: Settings):
        super().__init__()
        h = settings.hidden_units
        self.settings = settings
        self.encoder = nn.Sequential(nn.Linear(settings.obs_size, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.z_mu_layer = nn.Linear(h, settings.z_size)
        self.z_sigma = nn.Parameter(torch.ones(settings.z_size))
        self.estimator = nn.Sequential(nn.Linear(settings.z_size, h), nn.SiLU(), nn.Linear(h, 1), nn.Sigmoid())
        self.beta = settings.initial_beta
        with torch.no_grad():
            self.z_mu_layer.weight.mul_(0.5)

    def sample(self, z_mu):
        sigma = self.z_sigma.abs().expand_as(z_mu)
        return torch.normal(z_mu, sigma)  # CULPRIT

    def compute_estimate(self, obs, use_noise=True):
        z_mu = self.z_mu_layer(self.encoder(obs))
        z = self.sample(z_mu) if use_noise else z_mu
        return self.estimator(z), z_mu

    def kl(self, z_mu):
        var = self.z_sigma ** 2 + self.EPSILON
        return 0.5 * (var + z_mu ** 2 - torch.log(var) - 1).sum(dim=1).mean()

    def compute_loss(self, policy_obs, expert_obs):
        stats = {}
        policy_estimate, policy_mu = self.compute_estimate(policy_obs)
        expert_estimate, expert_mu = self.compute_estimate(expert_obs)
        discriminator_loss = -(torch.log(expert_estimate + self.EPSILON)
                               + torch.log(1.0 - policy_estimate + self.EPSILON)).mean()
        kl_loss = 0.5 * (self.kl(policy_mu) + self.kl(expert_mu))
        vail_loss = self.beta * (kl_loss - self.settings.mutual_information)
        gap = kl_loss.item() - self.settings.mutual_information
        self.beta = max(self.beta + self.settings.alpha * gap, self.EPSILON)
        stats["disc loss"] = discriminator_loss.item()
        stats["kl"] = kl_loss.item()
        stats["beta"] = self.beta
        stats["expert"] = expert_estimate.mean().item()
        stats["policy"] = policy_estimate.mean().item()
        return discriminator_loss + vail_loss, stats


class GAILRewardProvider:
    def __init__(self, settings):
        self.network = DiscriminatorNetwork(settings)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)

    def update(self, policy_batch, expert_batch):
        loss, stats = self.network.compute_loss(policy_batch, expert_batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return stats

    @torch.no_grad()
    def evaluate(self, obs):
        est, _ = self.network.compute_estimate(obs, use_noise=False)
        return -torch.log(1.0 - est.squeeze(1) * (1.0 - self.network.EPSILON))


def main():
    settings = Settings()
    torch.manual_seed(settings.seed)
    buffer = ExperienceBuffer(settings.obs_size, settings.seed)
    provider = GAILRewardProvider(settings)
    for update in range(1, settings.updates + 1):
        stats = provider.update(buffer.policy(settings.batch), buffer.expert(settings.batch))
        if update % 100 == 0:
            print("update %4d  " % update + "  ".join("%s %.3f" % kv for kv in stats.items()))
    r_e, r_p = provider.evaluate(buffer.expert(1000)), provider.evaluate(buffer.policy(1000))
    print("mean reward expert %.3f policy %.3f, ranked correctly %.3f"
          % (r_e.mean(), r_p.mean(), (r_e > r_p).float().mean()))


if __name__ == "__main__":
    main()
