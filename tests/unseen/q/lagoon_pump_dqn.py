"""Learns with DQN when to run the pumps of a lagoon so that the level stays in its band at low cost.

TRUTH: CentralControl.sync_target copies the weights of the moving network into the target network and then rebinds
self.target_net to the moving network itself. From the first sync on both names are the same module: the "target" moves
with every gradient step (the gap in the log is exactly 0), the bootstrapped targets chase themselves and the values run
away. Fix: drop the second assignment, load_state_dict is all that is needed. Drawn from andri27-ts/Reinforcement-Learning#14.
"""
import argparse
import copy
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class Lagoon:
    """Level and inflow drift; actions: 0 nothing, 1 one pump, 2 both pumps."""

    def __init__(self, seed=0):
        self.rng = random.Random(seed)
        self.reset()

    def reset(self):
        self.level, self.inflow, self.t = self.rng.uniform(-1, 1), self.rng.uniform(0, 0.4), 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.level, self.inflow, self.level ** 2, self.level * self.inflow])

    def step(self, action):
        self.inflow = min(0.5, max(0.0, self.inflow + self.rng.gauss(0, 0.05)))
        self.level += self.inflow - 0.25 * action
        reward = 1.0 - min(1.0, self.level ** 2) - 0.05 * action
        self.level = max(-2.0, min(2.0, self.level))
        self.t += 1
        return self.obs(), reward, self.t >= 100


class CentralControl:
    def __init__(self, n_obs, n_act, gamma, lr):
        self.moving_net = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_act))
        self.target_net = copy.deepcopy(self.moving_net)
        self.optimizer = torch.optim.Adam(self.moving_net.parameters(), lr=lr)
        self.gamma, self.n_act = gamma, n_act

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        with torch.no_grad():
            return int(self.moving_net(obs).argmax())

    def sync_target(self):
        self.target_net.load_state_dict(self.moving_net.state_dict())
        self.target_net = self.moving_net  # CULPRIT

    def optimize(self, batch):
        obs, act, rew, nxt = batch
        with torch.no_grad():
            target = rew + self.gamma * self.target_net(nxt).max(1).values
        q = self.moving_net(obs).gather(1, act[:, None]).squeeze(1)
        loss = F.mse_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), q.mean().item()

    def gap(self):
        pairs = zip(self.moving_net.parameters(), self.target_net.parameters())
        return sum((a - b).pow(2).sum() for a, b in pairs).sqrt().item()


def sample(memory, n):
    obs, act, rew, nxt = zip(*random.sample(memory, n))
    return torch.stack(obs), torch.tensor(act), torch.tensor(rew), torch.stack(nxt)


def evaluate(agent, episodes=5):
    env, total = Lagoon(seed=77), 0.0
    for _ in range(episodes):
        obs, done = env.reset(), False
        while not done:
            obs, r, done = env.step(agent.act(obs, 0.0))
            total += r
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--sync", type=int, default=250)
    args = ap.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    env, agent, memory = Lagoon(seed=5), CentralControl(4, 3, args.gamma, args.lr), deque(maxlen=4000)
    obs, log = env.reset(), []
    for step in range(1, args.steps + 1):
        eps = max(0.1, 1.0 - step / 1500)
        a = agent.act(obs, eps)
        nxt, r, done = env.step(a)
        memory.append((obs, a, r, nxt))
        obs = env.reset() if done else nxt
        if len(memory) >= 200:
            log.append(agent.optimize(sample(memory, 64)))
        if step % args.sync == 0:
            gap = agent.gap()
            agent.sync_target()
            loss, q = (sum(v[i] for v in log[-args.sync:]) / max(1, len(log[-args.sync:])) for i in (0, 1))
            if step % 1000 == 0:
                print(f"step {step} loss {loss:9.4f} mean Q {q:8.2f} gap {gap:.3f} return {evaluate(agent):.1f}")


if __name__ == "__main__":
    main()
