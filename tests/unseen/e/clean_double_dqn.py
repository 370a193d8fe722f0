"""Double DQN on a corridor with replay: greedy actions under no_grad, target network only refreshed by load_state_dict, gather of the taken action, terminal mask, Huber loss."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
random.seed(10)
torch.set_num_threads(1)

N = 8


def encode(pos):
    return F.one_hot(torch.tensor(pos), N).float()


def env_step(pos, action):
    pos = max(0, pos + (1 if action == 1 else -1))
    done = pos == N - 1
    return pos, (1.0 if done else -0.01), done


def main():
    q = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(q).eval()
    optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
    memory = deque(maxlen=2000)
    steps, lengths = 0, []
    for episode in range(80):
        pos, done, t = 0, False, 0
        eps = max(0.05, 1 - episode / 40)
        while not done and t < 60:
            with torch.no_grad():
                action = random.randrange(2) if random.random() < eps else q(encode(pos)).argmax().item()
            nxt, reward, done = env_step(pos, action)
            memory.append((encode(pos), action, reward, encode(nxt), float(done)))
            pos, t, steps = nxt, t + 1, steps + 1
            if len(memory) < 64:
                continue
            s, a, r, s2, d = zip(*random.sample(memory, 32))
            s, s2 = torch.stack(s), torch.stack(s2)
            a, r, d = torch.tensor(a).unsqueeze(1), torch.tensor(r), torch.tensor(d)
            with torch.no_grad():
                best = q(s2).argmax(1, keepdim=True)
                y = r + 0.95 * target(s2).gather(1, best).squeeze(1) * (1 - d)
            loss = F.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            for p in q.parameters():
                p.grad.data.clamp_(-1, 1)
            optimizer.step()
            if steps % 50 == 0:
                target.load_state_dict(q.state_dict())
        lengths.append(t)
        if episode % 20 == 19:
            print("episode %d mean length of the last ten %.1f" % (episode, sum(lengths[-10:]) / 10))


if __name__ == "__main__":
    main()
