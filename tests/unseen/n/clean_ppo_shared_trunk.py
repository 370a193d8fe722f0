"""RIGHT. PPO with a shared trunk, preallocated rollout tensors written in place, detached advantages, an early stop on the divergence and a critic that is stopped at the trunk.
TRUTH: the rollout is collected under no_grad, so the in-place writes touch no graph; the old log-probabilities are constants by design; the features are detached for the value head on purpose (the trunk is shaped by the policy only), and every tensor in the losses is one-dimensional.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)

T, N, OBS, ACT = 16, 12, 4, 3
GAMMA, LAM = 0.9, 0.95


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBS, 32), nn.Tanh())
        self.pi = nn.Linear(32, ACT)
        self.v = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h.detach()).squeeze(-1)


class Env:
    """the best action depends on the sign of two sensors"""

    def __init__(self):
        self.obs = torch.randn(N, OBS)

    def step(self, action):
        best = (self.obs[:, 0] > 0).long() + (self.obs[:, 1] > 0).long()
        reward = (action == best).float() + 0.1 * self.obs[:, 2]
        self.obs = torch.randn(N, OBS)
        done = (torch.rand(N) < 0.05).float()
        return self.obs, reward, done


@torch.no_grad()
def rollout(env, agent):
    b = dict(obs=torch.zeros(T, N, OBS), act=torch.zeros(T, N, dtype=torch.long), logp=torch.zeros(T, N),
             val=torch.zeros(T + 1, N), rew=torch.zeros(T, N), done=torch.zeros(T, N))
    obs = env.obs
    for t in range(T):
        dist, value = agent(obs)
        action = dist.sample()
        b["obs"][t], b["act"][t], b["logp"][t], b["val"][t] = obs, action, dist.log_prob(action), value
        obs, b["rew"][t], b["done"][t] = env.step(action)
    b["val"][T] = agent(obs)[1]
    adv, gae = torch.zeros(T, N), torch.zeros(N)
    for t in reversed(range(T)):
        alive = 1.0 - b["done"][t]
        delta = b["rew"][t] + GAMMA * alive * b["val"][t + 1] - b["val"][t]
        gae = delta + GAMMA * LAM * alive * gae
        adv[t] = gae
    data = dict(obs=b["obs"], act=b["act"], logp=b["logp"], adv=adv, ret=adv + b["val"][:-1])
    return {k: v.flatten(0, 1) for k, v in data.items()}, b["rew"].mean().item()


def update(agent, opt, data, target_kl=0.05):
    for epoch in range(6):
        for idx in torch.randperm(T * N).split(64):
            dist, value = agent(data["obs"][idx])
            logp = dist.log_prob(data["act"][idx])
            log_ratio = logp - data["logp"][idx]
            adv = data["adv"][idx]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            ratio = log_ratio.exp()
            pi_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            loss = pi_loss + 0.5 * F.mse_loss(value, data["ret"][idx]) - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
            with torch.no_grad():
                kl = ((ratio - 1) - log_ratio).mean().item()
        if kl > target_kl:
            break
    return epoch + 1, kl


def main():
    env, agent = Env(), Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=1e-2, eps=1e-5)
    for it in range(14):
        data, reward = rollout(env, agent)
        epochs, kl = update(agent, opt, data)
        if it % 3 == 0:
            print(f"iter {it} reward {reward:.3f} epochs {epochs} kl {kl:.4f}")


if __name__ == "__main__":
    main()
