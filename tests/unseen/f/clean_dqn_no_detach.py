"""CORRECT. The TD target is not detached and not under no_grad, but it comes from a separate q_target network whose parameters
are in no optimizer and whose gradients are never used (q_target is overwritten by load_state_dict); the update of q is exact.
THREAD: https://github.com/seungeunrho/minimalRL/pull/41 "Detach the target" (closed: it doesn't have to be detached)
"""
import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

learning_rate = 0.002
gamma = 0.95
buffer_limit = 5000
batch_size = 32


class ReplayBuffer():
    def __init__(self):
        self.buffer = collections.deque(maxlen=buffer_limit)

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, n):
        s, a, r, s2, done = zip(*random.sample(self.buffer, n))
        return (torch.tensor(s, dtype=torch.float), torch.tensor(a).unsqueeze(1), torch.tensor(r).unsqueeze(1),
                torch.tensor(s2, dtype=torch.float), torch.tensor(done).unsqueeze(1))

    def size(self):
        return len(self.buffer)


class Qnet(nn.Module):
    def __init__(self):
        super(Qnet, self).__init__()
        self.fc1 = nn.Linear(2, 64)
        self.fc2 = nn.Linear(64, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))

    def sample_action(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randint(0, 2)
        return self.forward(obs).argmax().item()


class Balance:
    def reset(self):
        self.x, self.v, self.t = random.uniform(-.5, .5), 0., 0
        return (self.x, self.v)

    def step(self, a):
        self.v += 0.1 * (a - 1) + 0.05 * self.x + random.gauss(0, 0.01)
        self.x += 0.3 * self.v
        self.t += 1
        fell = abs(self.x) > 1
        return (self.x, self.v), (-5.0 if fell else 1.0 - abs(self.x)), fell, fell or self.t >= 60


def train(q, q_target, memory, optimizer):
    for i in range(5):
        s, a, r, s_prime, done_mask = memory.sample(batch_size)
        q_a = q(s).gather(1, a)
        max_q_prime = q_target(s_prime).max(1)[0].unsqueeze(1)
        target = r + gamma * max_q_prime * done_mask
        loss = F.smooth_l1_loss(q_a, target)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, q, q_target = Balance(), Qnet(), Qnet()
    q_target.load_state_dict(q.state_dict())
    memory = ReplayBuffer()
    optimizer = optim.Adam(q.parameters(), lr=learning_rate)
    score, steps = 0.0, 0
    for n_epi in range(1, 151):
        epsilon = max(0.02, 0.4 - 0.4 * n_epi / 80)
        s, over = env.reset(), False
        while not over:
            a = q.sample_action(torch.tensor(s), epsilon)
            s_prime, r, fell, over = env.step(a)
            memory.put((s, a, r, s_prime, 0.0 if fell else 1.0))
            s = s_prime
            score += r
            steps += 1
        if memory.size() > 200:
            loss = train(q, q_target, memory, optimizer)
        if n_epi % 10 == 0:
            q_target.load_state_dict(q.state_dict())
        if n_epi % 25 == 0:
            print(f'n_episode {n_epi} score {score / 25:.2f} length {steps / 25:.1f} loss {loss:.4f} eps {epsilon:.2f}')
            score, steps = 0.0, 0


main()
