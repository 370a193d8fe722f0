"""Normalized advantage functions (continuous Q-learning) on a one-dimensional point-mass reaching task.

TRUTH: the bootstrapped target is written reward + gamma * mask + V(s') instead of reward + gamma * mask *
V(s'): the next value is neither discounted nor cut at terminal states, and a constant 0.99 is added at
every non-terminal step. Symptom: V and Q grow without bound (far above the largest possible return of
about 1), the target at terminal transitions depends on V(s'), value loss does not settle.
Fix: replace the second + by *.
Drawn from ikostrikov/pytorch-ddpg-naf#16.
"""
import argparse
import copy
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "mask", "next_state", "reward"))


class PointMass:
    """State (position, velocity); reaching the origin ends the episode with reward one."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-1, 1), 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.8 * self.v + 0.2 * float(np.clip(a, -1, 1))
        self.x = float(np.clip(self.x + self.v, -1.5, 1.5))
        self.t += 1
        reached = abs(self.x) < 0.12
        reward = 1.0 if reached else -0.05
        return np.array([self.x, self.v], dtype=np.float32), reward, reached, self.t >= 40


class Policy(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(num_inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.V = nn.Linear(hidden, 1)
        self.mu = nn.Linear(hidden, num_actions)
        self.L = nn.Linear(hidden, num_actions)

    def forward(self, state, action=None):
        h = self.body(state)
        V, mu = self.V(h), torch.tanh(self.mu(h))
        Q = None
        if action is not None:
            P = self.L(h).clamp(-4, 4).exp() ** 2
            Q = V - 0.5 * (P * (action - mu) ** 2).sum(-1, keepdim=True)
        return mu, Q, V


class NAF:
    def __init__(self, gamma, tau, hidden, lr=1e-3):
        self.model = Policy(2, 1, hidden)
        self.target_model = copy.deepcopy(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.gamma, self.tau = gamma, tau

    @torch.no_grad()
    def select_action(self, state, noise_scale):
        mu, _, _ = self.model(torch.from_numpy(state).unsqueeze(0))
        return float((mu + noise_scale * torch.randn_like(mu)).clamp(-1, 1))

    def update_parameters(self, batch):
        state = torch.from_numpy(np.stack(batch.state))
        action = torch.tensor(batch.action).float().unsqueeze(1)
        reward = torch.tensor(batch.reward).float().unsqueeze(1)
        mask = torch.tensor(batch.mask).float().unsqueeze(1)
        next_state = torch.from_numpy(np.stack(batch.next_state))
        with torch.no_grad():
            _, _, next_v = self.target_model(next_state)
        expected_q = reward + self.gamma * mask + next_v  # CULPRIT
        _, q, _ = self.model(state, action)
        loss = F.mse_loss(q, expected_q)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        with torch.no_grad():
            for tp, p in zip(self.target_model.parameters(), self.model.parameters()):
                tp.mul_(1 - self.tau).add_(p, alpha=self.tau)
        return loss.item(), q.mean().item()


def main():
    parser = argparse.ArgumentParser(description="NAF example")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--tau", type=float, default=0.01)
    parser.add_argument("--noise-scale", type=float, default=0.4)
    parser.add_argument("--num-episodes", type=int, default=45)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--hidden-size", type=int, default=32)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    env, agent, memory = PointMass(0), NAF(args.gamma, args.tau, args.hidden_size), deque(maxlen=5000)
    returns, losses, qs = [], [], []
    for episode in range(1, args.num_episodes + 1):
        state, total, done, timeout = env.reset(), 0.0, False, False
        while not (done or timeout):
            action = agent.select_action(state, args.noise_scale)
            next_state, reward, done, timeout = env.step(action)
            memory.append(Transition(state, action, float(not done), next_state, reward))
            total += reward
            state = next_state
            if len(memory) >= args.batch_size:
                loss, q = agent.update_parameters(Transition(*zip(*random.sample(memory, args.batch_size))))
                losses.append(loss)
                qs.append(q)
        returns.append(total)
        if episode % 15 == 0:
            print(f"episode {episode:3d} return(15) {np.mean(returns[-15:]):7.3f} "
                  f"value loss {np.mean(losses[-100:]):.4f} mean q {np.mean(qs[-100:]):.3f}")


if __name__ == "__main__":
    main()
