"""DDPG on a double integrator; actor and critic with separate optimizers and Polyak-averaged target networks.

TRUTH: correct: the actor loss also leaves gradients in the critic, but the critic's optimizer zeroes them before its own
backward and never steps on them; the Q-values are not detached in the actor loss because the actor learns through them; the
bootstrapped target comes from target networks under no_grad; the targets are updated in place and are in no optimizer.
"""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleIntegrator:
    def __init__(self, rng, horizon=15):
        self.rng, self.horizon = rng, horizon

    def reset(self):
        self.s, self.t = self.rng.uniform(-1, 1, 2), 0
        return self.s.astype(np.float32)

    def step(self, u):
        x, v = self.s
        v = np.clip(v + 0.4 * u, -1.5, 1.5)
        x = np.clip(x + 0.4 * v, -2, 2)
        self.s = np.array([x, v])
        self.t += 1
        return self.s.astype(np.float32), -(x ** 2 + 0.1 * v ** 2 + 0.01 * u ** 2), self.t >= self.horizon


class Actor(nn.Module):
    def __init__(self, hid=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hid), nn.ReLU(), nn.Linear(hid, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self, hid=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hid), nn.ReLU(), nn.Linear(hid, hid), nn.ReLU(), nn.Linear(hid, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1))


class Memory:
    def __init__(self, size, rng):
        self.buf, self.size, self.rng = np.zeros((size, 6), dtype=np.float32), size, rng
        self.n = 0

    def push(self, s, a, r, s2):
        self.buf[self.n % self.size] = [*s, a, r, *s2]
        self.n += 1

    def sample(self, k):
        b = torch.from_numpy(self.buf[self.rng.integers(0, min(self.n, self.size), k)])
        return b[:, :2], b[:, 2:3], b[:, 3:4], b[:, 4:]


class DDPG:
    def __init__(self, gamma=0.9, tau=0.02):
        self.actor, self.critic = Actor(), Critic()
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.gamma, self.tau = gamma, tau

    @torch.no_grad()
    def act(self, s, noise=0.0, rng=None):
        a = self.actor(torch.from_numpy(s)).item()
        return float(np.clip(a + (noise * rng.normal() if noise else 0.0), -1, 1))

    def update(self, s, a, r, s2):
        with torch.no_grad():
            target = r + self.gamma * self.critic_target(s2, self.actor_target(s2))
        critic_loss = F.smooth_l1_loss(self.critic(s, a), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        for net, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.mul_(1 - self.tau)
                tp.data.add_(self.tau * p.data)
        return critic_loss.item()


def evaluate(agent, n=30):
    env, total = DoubleIntegrator(np.random.default_rng(5)), 0.0
    for _ in range(n):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(agent.act(s))
            total += r
    return total / n


def main():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    env, agent, mem = DoubleIntegrator(rng), DDPG(), Memory(5000, rng)
    print(f"before training: {evaluate(agent):.3f}")
    loss = float("nan")
    for episode in range(1, 61):
        s, done = env.reset(), False
        while not done:
            a = agent.act(s, 0.4, rng) if episode > 8 else rng.uniform(-1, 1)
            s2, r, done = env.step(a)
            mem.push(s, a, r, s2)
            s = s2
            if episode > 8:
                loss = agent.update(*mem.sample(64))
        if episode % 15 == 0:
            print(f"episode {episode} critic loss {loss:.4f} evaluation {evaluate(agent):.3f}")


if __name__ == "__main__":
    main()
