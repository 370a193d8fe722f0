# kind: gradients_not_zeroed
"""Advantage actor-critic that keeps a room at 21 degrees with a three-step heater."""
import torch
from torch import nn
from torch.distributions import Categorical


class Rooms:
    """A batch of rooms; the observation is the deviation from the set point and the weather."""

    def __init__(self, n=24):
        self.n = n

    def reset(self):
        self.temp = 21 + 2 * torch.randn(self.n)
        self.outside = 8 + 4 * torch.randn(self.n)
        return self._obs()

    def _obs(self):
        return torch.stack([(self.temp - 21) / 3, (self.outside - 8) / 5], dim=1)

    def step(self, action):
        heat = torch.tensor([0.0, 1.3, 2.6])[action]
        self.temp = self.temp + 0.1 * (self.outside - self.temp) + heat
        return self._obs(), -((self.temp - 21).abs() / 5).clamp(max=2.0)


def mlp(n_in, n_out, hidden=32):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, n_out))


class A2C:
    def __init__(self, env, gamma=0.9, horizon=8):
        self.env, self.gamma, self.horizon = env, gamma, horizon
        self.actor, self.critic = mlp(2, 3), mlp(2, 1)
        self.optimizers = {
            "actor": torch.optim.Adam(self.actor.parameters(), lr=5e-3),
            "critic": torch.optim.SGD(self.critic.parameters(), lr=5e-2),
        }

    def rollout(self):
        obs, steps = self.env.reset(), []
        for _ in range(self.horizon):
            dist = Categorical(logits=self.actor(obs))
            action = dist.sample()
            value = self.critic(obs).squeeze(1)
            obs, reward = self.env.step(action)
            steps.append((dist.log_prob(action), dist.entropy(), value, reward))
        with torch.no_grad():
            last = self.critic(obs).squeeze(1)
        return [torch.stack(part) for part in zip(*steps)], last

    def returns(self, rewards, last):
        out, running = [], last
        for r in reversed(rewards):
            running = r + self.gamma * running
            out.append(running)
        return torch.stack(out[::-1])

    def _begin(self):
        self.optimizers["actor"].zero_grad()  # CULPRIT

    def _finish(self):
        for opt in self.optimizers.values():
            opt.step()

    def update(self):
        (logp, entropy, values, rewards), last = self.rollout()
        target = self.returns(rewards, last)
        advantage = (target - values).detach()
        policy_loss = -(advantage * logp).mean() - 0.01 * entropy.mean()
        value_loss = 0.5 * (target - values).pow(2).mean()
        self._begin()
        (policy_loss + value_loss).backward()
        self._finish()
        return rewards.mean().item(), value_loss.item()


def main():
    torch.manual_seed(7)
    agent = A2C(Rooms())
    history = []
    for it in range(1, 201):
        history.append(agent.update())
        if it % 40 == 0:
            reward, value_loss = (sum(h) / 40 for h in zip(*history[-40:]))
            print(f"update {it} reward {reward:.3f} value loss {value_loss:.3f}")


if __name__ == "__main__":
    main()
