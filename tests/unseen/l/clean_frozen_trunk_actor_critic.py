"""RIGHT. Actor-critic with a shared trunk: the actor head reads detached features, two optimizers share nothing, the actor is stepped only every second iteration.
TRUTH: the trunk belongs to the critic on purpose (it is in the critic's optimizer only), the actor gets features.detach(); the advantage is formed without gradient; the actor's gradients of skipped iterations are never computed.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class SharedAgent(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)

    def features(self, obs):
        return self.trunk(obs)

    def policy(self, features):
        return Categorical(logits=self.actor(features.detach()))

    def value(self, features):
        return self.critic(features).squeeze(-1)


class Bandit:
    """contextual bandit with four arms, the context points at the good one"""

    def __init__(self, n_arms=4, dim=6):
        self.w = torch.randn(dim, n_arms)
        self.dim = dim

    def reset(self, n):
        return torch.randn(n, self.dim)

    def reward(self, obs, action):
        best = (obs @ self.w).argmax(dim=1)
        return (action == best).float()


class Learner:
    def __init__(self, agent, actor_every=2):
        self.agent = agent
        self.critic_opt = torch.optim.Adam(
            list(agent.trunk.parameters()) + list(agent.critic.parameters()), lr=3e-3)
        self.actor_opt = torch.optim.Adam(agent.actor.parameters(), lr=2e-2)
        self.actor_every = actor_every
        self.iteration = 0

    def update(self, env, n=256):
        obs = env.reset(n)
        features = self.agent.features(obs)
        dist = self.agent.policy(features)
        action = dist.sample()
        reward = env.reward(obs, action)

        value = self.agent.value(features)
        value_loss = F.mse_loss(value, reward)
        self.critic_opt.zero_grad()
        value_loss.backward()
        self.critic_opt.step()

        self.iteration += 1
        if self.iteration % self.actor_every == 0:
            advantage = (reward - value).detach()
            actor_loss = -(dist.log_prob(action) * advantage).mean() - 0.01 * dist.entropy().mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
        return reward.mean().item(), value_loss.item()


@torch.no_grad()
def evaluate(agent, env, n=1000):
    obs = env.reset(n)
    greedy = agent.policy(agent.features(obs)).logits.argmax(dim=1)
    return env.reward(obs, greedy).mean().item()


def main():
    torch.manual_seed(0)
    env = Bandit()
    agent = SharedAgent(env.dim, 4)
    learner = Learner(agent)
    print("greedy reward before", round(evaluate(agent, env), 3))
    for it in range(200):
        reward, value_loss = learner.update(env)
        if it % 50 == 0:
            print(it, "reward", round(reward, 3), "value loss", round(value_loss, 4))
    print("greedy reward after", round(evaluate(agent, env), 3))


if __name__ == "__main__":
    main()
