"""Teaches an elevator where to wait, with double DQN, a slowly following target network and n-step returns.

TRUTH: correct. The target network is a deep copy whose parameters do not require gradient and follow by lerp_ under
no_grad; the targets are formed under no_grad with the action chosen by the online and valued by the target network;
terminal steps are masked; the buffer holds plain numbers. That the target's grads are always None and its parameters
are in no optimiser is intended.
"""
import argparse
import copy
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F

FLOORS = 7


class Elevator:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def reset(self):
        self.at, self.t, self.busy = self.rng.randrange(FLOORS), 0, self.rng.randrange(FLOORS)
        return self.obs()

    def obs(self):
        x = [0.0] * (2 * FLOORS)
        x[self.at] = 1.0
        x[FLOORS + self.busy] = 1.0
        return x

    def step(self, move):
        self.at = min(FLOORS - 1, max(0, self.at + move - 1))
        call = self.busy if self.rng.random() < 0.7 else self.rng.randrange(FLOORS)
        reward = -abs(call - self.at) / FLOORS - 0.02 * (move != 1)
        if self.rng.random() < 0.1:
            self.busy = self.rng.randrange(FLOORS)
        self.t += 1
        return self.obs(), reward, self.t >= 30


class DuelingNet(nn.Module):
    def __init__(self, n_in, n_act, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU())
        self.value, self.gain = nn.Linear(hidden, 1), nn.Linear(hidden, n_act)

    def forward(self, x):
        h = self.body(x)
        gain = self.gain(h)
        return self.value(h) + gain - gain.mean(-1, keepdim=True)


class Learner:
    def __init__(self, gamma, n_step, tau=0.03, lr=2e-3):
        self.online = DuelingNet(2 * FLOORS, 3)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.n_step, self.tau = gamma, n_step, tau

    @torch.no_grad()
    def act(self, obs, eps=0.0):
        if random.random() < eps:
            return random.randrange(3)
        return self.online(torch.tensor(obs)).argmax().item()

    def learn(self, batch):
        s, a, r, s2, alive = batch
        with torch.no_grad():
            pick = self.online(s2).argmax(1, keepdim=True)
            target = r + self.gamma ** self.n_step * alive * self.target(s2).gather(1, pick).squeeze(1)
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for t, p in zip(self.target.parameters(), self.online.parameters()):
                t.lerp_(p, self.tau)
        return loss.item()


def n_step_push(memory, recent, gamma, flush):
    while recent and (flush or len(recent) == recent.maxlen):
        ret = sum(gamma ** k * item[2] for k, item in enumerate(recent))
        s, a = recent[0][:2]
        memory.append((s, a, ret, recent[-1][3], 0.0 if flush else 1.0))
        recent.popleft()
        if not flush:
            break


def evaluate(learner, episodes=30):
    env, total = Elevator(99), 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(learner.act(s))
            total += r
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2700)
    ap.add_argument("--n-step", type=int, default=3)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    gamma = 0.9
    env, learner, memory = Elevator(1), Learner(gamma, args.n_step), deque(maxlen=5000)
    recent, s, losses = deque(maxlen=args.n_step), env.reset(), []
    print(f"untrained return {evaluate(learner):.2f}")
    for step in range(1, args.steps + 1):
        a = learner.act(s, max(0.1, 1 - step / 1000))
        s2, r, done = env.step(a)
        recent.append((s, a, r, s2))
        n_step_push(memory, recent, gamma, done)
        s = env.reset() if done else s2
        if step > 200:
            cols = list(zip(*random.sample(memory, 48)))
            losses.append(learner.learn([torch.tensor(c) for c in cols]))
        if step % 900 == 0:
            print(f"step {step} loss {sum(losses[-500:]) / 500:.4f} greedy return {evaluate(learner):.2f}")


if __name__ == "__main__":
    main()
