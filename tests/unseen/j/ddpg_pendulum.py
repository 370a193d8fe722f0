# kind: optimizer_step_before_backward
"""DDPG on a small point-mass control task."""
import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    gamma: float = 0.9
    tau: float = 0.02
    actor_lr: float = 1e-3
    critic_lr: float = 2e-3
    batch: int = 64
    steps: int = 150


def mlp(inp, out, hidden=48):
    return nn.Sequential(nn.Linear(inp, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))


def env_step(state, action):
    """Position and velocity of a mass that is pushed by the action; stay near the origin."""
    pos, vel = state[:, :1], state[:, 1:]
    vel = 0.9 * vel + 0.3 * action
    pos = (pos + 0.3 * vel).clamp(-3, 3)
    reward = -(pos ** 2 + 0.1 * action ** 2)
    return torch.cat([pos, vel], 1), reward


class Agent:
    def __init__(self, cfg):
        self.cfg = cfg
        self.actor = mlp(2, 1)
        self.critic = mlp(3, 1)
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=cfg.actor_lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=cfg.critic_lr)

    def act(self, state):
        return torch.tanh(self.actor(state))

    def q(self, state, action):
        return self.critic(torch.cat([state, action], 1))

    def critic_loss(self, s, a, r, s2):
        with torch.no_grad():
            a2 = torch.tanh(self.actor_target(s2))
            y = r + self.cfg.gamma * self.critic_target(torch.cat([s2, a2], 1))
        return F.mse_loss(self.q(s, a), y)

    def actor_loss(self, s):
        return -self.q(s, self.act(s)).mean()

    def soft_update(self):
        with torch.no_grad():
            for net, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
                for p, t in zip(net.parameters(), target.parameters()):
                    t.lerp_(p, self.cfg.tau)

    def apply(self, opt, loss):
        opt.zero_grad()
        loss.backward()
        opt.step()

    def update(self, batch):
        losses = {"critic": self.critic_loss(*batch), "actor": self.actor_loss(batch[0])}  # CULPRIT
        self.apply(self.critic_opt, losses["critic"])
        self.apply(self.actor_opt, losses["actor"])
        self.soft_update()
        return {name: value.item() for name, value in losses.items()}


def evaluate(agent):
    gen = torch.Generator().manual_seed(1)
    state, total = torch.randn(64, 2, generator=gen), 0.0
    with torch.no_grad():
        for _ in range(20):
            state, reward = env_step(state, agent.act(state))
            total += reward.mean().item()
    return total


def main():
    torch.manual_seed(0)
    cfg = Config()
    agent = Agent(cfg)
    # replay memory filled by a uniformly random policy
    states = torch.randn(4000, 2) * 1.5
    actions = torch.rand(4000, 1) * 2 - 1
    nexts, rewards = env_step(states, actions)
    print("return before", round(evaluate(agent), 2))
    for step in range(cfg.steps):
        idx = torch.randint(4000, (cfg.batch,))
        info = agent.update((states[idx], actions[idx], rewards[idx], nexts[idx]))
        if step % 50 == 49:
            print(step + 1, {k: round(v, 3) for k, v in info.items()}, "return", round(evaluate(agent), 2))


if __name__ == "__main__":
    main()
