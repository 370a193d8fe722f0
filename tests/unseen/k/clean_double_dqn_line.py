"""RIGHT. Double DQN with a Polyak target that is written in place, prioritised weights taken from TD errors, and bootstrapping cut at terminal states.
TRUTH: the target is a deep copy with requires_grad False; its lerp_ runs under no_grad and nothing of it is saved in a graph; the TD target is constant by no_grad on purpose; priorities are read from a detached copy; all tensors in the loss have the shape (B,); argmax is only used as index.
"""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)

CFG = dict(cells=7, gamma=0.9, lr=3e-3, batch=48, tau=0.05, steps=250, warmup=60, alpha=0.6, beta=0.4)


class Line:
    def __init__(self, cells):
        self.cells = cells

    def observe(self):
        return F.one_hot(torch.tensor(self.pos), self.cells).float()

    def reset(self):
        self.pos, self.t = self.cells // 2, 0
        return self.observe()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        at_left, at_right = self.pos == 0, self.pos == self.cells - 1
        reward = 1.0 if at_right else (0.2 if at_left else 0.0)
        return self.observe(), reward, at_left or at_right


class Memory:
    def __init__(self, size, cells):
        self.s = torch.zeros(size, cells)
        self.s2 = torch.zeros(size, cells)
        self.a = torch.zeros(size, dtype=torch.long)
        self.r = torch.zeros(size)
        self.done = torch.zeros(size)
        self.prio = torch.zeros(size)
        self.size, self.n = size, 0

    def push(self, s, a, r, s2, done):
        i = self.n % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i], self.done[i] = s, a, r, s2, float(done)
        self.prio[i] = self.prio.max().clamp_min(1.0)
        self.n += 1

    def sample(self, batch, alpha, beta):
        filled = min(self.n, self.size)
        p = self.prio[:filled] ** alpha
        p = p / p.sum()
        idx = torch.multinomial(p, batch, replacement=True)
        w = (filled * p[idx]) ** (-beta)
        return idx, w / w.max()


class Agent:
    def __init__(self, cfg):
        self.cfg = cfg
        self.online = nn.Sequential(nn.Linear(cfg["cells"], 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=cfg["lr"])

    @torch.no_grad()
    def act(self, obs, eps):
        return random.randrange(2) if random.random() < eps else self.online(obs).argmax().item()

    def learn(self, memory):
        cfg = self.cfg
        idx, weights = memory.sample(cfg["batch"], cfg["alpha"], cfg["beta"])
        s, a, r, s2, done = (t[idx] for t in (memory.s, memory.a, memory.r, memory.s2, memory.done))
        with torch.no_grad():
            best = self.online(s2).argmax(dim=1, keepdim=True)
            target = r + cfg["gamma"] * (1.0 - done) * self.target(s2).gather(1, best).squeeze(1)
        q = self.online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        td = target - q
        loss = (weights * F.smooth_l1_loss(q, target, reduction="none")).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        memory.prio[idx] = td.detach().abs() + 1e-3
        self.follow()
        return loss.item()

    @torch.no_grad()
    def follow(self):
        for t, p in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(p, self.cfg["tau"])


def main():
    cfg = dict(CFG)
    env, agent, memory = Line(cfg["cells"]), Agent(cfg), Memory(300, cfg["cells"])
    obs, losses, returns = env.reset(), [], []
    for step in range(cfg["warmup"] + cfg["steps"]):
        action = agent.act(obs, eps=1.0 if step < cfg["warmup"] else 0.3)
        obs2, reward, done = env.step(action)
        memory.push(obs, action, reward, obs2, done)
        obs = env.reset() if done else obs2
        if done:
            returns.append(reward)
        if step >= cfg["warmup"]:
            losses.append(agent.learn(memory))
            if len(losses) % 50 == 0:
                print(f"update {len(losses):3d}  loss {sum(losses[-50:]) / 50:.4f}  last returns {sum(returns[-10:]) / len(returns[-10:]):.2f}")
    with torch.no_grad():
        print("greedy actions (inner cells):", agent.online(torch.eye(cfg["cells"])).argmax(1)[1:-1].tolist())


if __name__ == "__main__":
    main()
