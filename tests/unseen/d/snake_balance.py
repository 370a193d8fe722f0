"""navneet-nmk/pytorch-rl#2
Symptom: the Q-values of the DQN all grow towards the same large number and the policy does not get better.
EXPECT: runs
TRUTH: done is stored but not used in the target, so terminal states are bootstrapped too; multiply the next value by (1 - done).
"""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Pole:
    def reset(self):
        self.x, self.v, self.t = random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), 0
        return [self.x, self.v]

    def step(self, action):
        force = 0.06 if action == 1 else -0.06
        self.v += 0.08 * self.x + force
        self.x += self.v
        self.t += 1
        done = abs(self.x) > 1.0
        return [self.x, self.v], 1.0, done, self.t >= 60


class QNetwork(nn.Module):
    def __init__(self, n_states, n_actions, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(n_states, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_actions)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, *transition):
        self.buffer.append(transition)

    def sample(self, batch_size):
        s, a, r, s2, d = zip(*random.sample(self.buffer, batch_size))
        return (torch.tensor(s), torch.tensor(a).unsqueeze(1), torch.tensor(r).unsqueeze(1),
                torch.tensor(s2), torch.tensor(d, dtype=torch.float32).unsqueeze(1))


class DQNAgent:
    def __init__(self, gamma=0.97, lr=1e-3):
        self.gamma = gamma
        self.online = QNetwork(2, 2)
        self.target = QNetwork(2, 2)
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr)

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.online(torch.tensor(state)).argmax().item()

    def learn(self, batch):
        state, action, reward, next_state, done = batch
        q = self.online(state).gather(1, action)
        with torch.no_grad():
            q_next = self.target(next_state).max(1, keepdim=True)[0]
            q_target = reward + self.gamma * q_next  # CULPRIT
        loss = F.smooth_l1_loss(q, q_target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for pt, p in zip(self.target.parameters(), self.online.parameters()):
            pt.data.mul_(0.98).add_(p.data, alpha=0.02)
        return q.mean().item(), loss.item()


def train(episodes=130, batch_size=64):
    env, agent, memory = Pole(), DQNAgent(), ReplayBuffer(5000)
    lengths, stats = [], (0.0, 0.0)
    for ep in range(1, episodes + 1):
        state, done, timeout = env.reset(), False, False
        eps = max(0.05, 1.0 - ep / 70)
        while not (done or timeout):
            action = agent.act(state, eps)
            next_state, reward, done, timeout = env.step(action)
            memory.push(state, action, reward, next_state, done)
            state = next_state
            if len(memory.buffer) >= 200:
                stats = agent.learn(memory.sample(batch_size))
        lengths.append(env.t)
        if ep % 26 == 0:
            print("episode %3d  mean length %.1f  mean Q %.2f  loss %.4f" % (ep, sum(lengths[-26:]) / 26, *stats))


if __name__ == "__main__":
    random.seed(4)
    torch.manual_seed(4)
    torch.set_num_threads(1)
    train()
