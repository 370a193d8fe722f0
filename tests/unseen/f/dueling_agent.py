"""What the user sees: during debugging I found that the outputs of policy_net and target_net are the same at all times,
also between two target updates, as if target_update had no meaning.

TRUTH: nn.Module.to() returns the same object, so policy_net and target_net are one network: target_net changes with every
optimizer step. Fix: target_net = copy.deepcopy(model) (or build a second DuelingNet and load the state dict).
THREAD: https://github.com/datawhalechina/easy-rl/issues/140
"""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class DuelingNet(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=32):
        super(DuelingNet, self).__init__()
        self.hidden_layer = nn.Sequential(nn.Linear(n_states, hidden_dim), nn.ReLU())
        self.advantage_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(),
                                             nn.Linear(hidden_dim, n_actions))
        self.value_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, state):
        x = self.hidden_layer(state)
        advantage = self.advantage_layer(x)
        value = self.value_layer(x)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, transitions):
        self.buffer.append(transitions)

    def sample(self, batch_size):
        return zip(*random.sample(self.buffer, batch_size))

    def __len__(self):
        return len(self.buffer)


class DuelingDQN(object):
    def __init__(self, model, memory, device, cfg):
        self.n_actions = cfg['n_actions']
        self.device = device
        self.gamma = cfg['gamma']
        self.sample_count = 0
        self.batch_size = cfg['batch_size']
        self.target_update = cfg['target_update']
        self.policy_net = model.to(self.device)
        self.target_net = model.to(self.device)  # CULPRIT
        for target_param, param in zip(self.target_net.parameters(), self.policy_net.parameters()):
            target_param.data.copy_(param.data)
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=cfg['lr'])
        self.memory = memory

    def sample_action(self, state):
        self.sample_count += 1
        epsilon = max(0.05, 1 - self.sample_count / 500)
        if random.random() > epsilon:
            with torch.no_grad():
                return self.policy_net(state.unsqueeze(0)).argmax(1).item()
        return random.randrange(self.n_actions)

    def update(self):
        if len(self.memory) < self.batch_size:
            return
        s, a, r, s2, d = self.memory.sample(self.batch_size)
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, d = torch.tensor(a).unsqueeze(1), torch.tensor(r), torch.tensor(d, dtype=torch.float)
        q_values = self.policy_net(s).gather(1, a).squeeze(1)
        next_q = self.target_net(s2).max(1)[0].detach()
        expected = r + self.gamma * next_q * (1 - d)
        loss = F.mse_loss(q_values, expected)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.sample_count % self.target_update == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())


class PointEnv:
    def reset(self):
        self.x, self.t = torch.rand(2) * 2 - 1, 0
        return self.x.clone()

    def step(self, a):
        move = torch.tensor([[.2, 0.], [-.2, 0.], [0., .2], [0., -.2]])[a]
        self.x = (self.x + move).clamp(-1, 1)
        self.t += 1
        return self.x.clone(), -self.x.norm().item(), self.t >= 20


def main():
    torch.manual_seed(1)
    random.seed(1)
    cfg = dict(n_actions=4, gamma=0.97, batch_size=32, target_update=170, lr=2e-3)
    agent = DuelingDQN(DuelingNet(2, 4), ReplayBuffer(5000), torch.device('cpu'), cfg)
    env = PointEnv()
    probe = torch.rand(64, 2) * 2 - 1
    for ep in range(1, 46):
        s, done, ret = env.reset(), False, 0.
        while not done:
            a = agent.sample_action(s)
            s2, r, done = env.step(a)
            agent.memory.push((s, a, r, s2, False))
            s, ret = s2, ret + r
            agent.update()
        if ep % 5 == 0:
            with torch.no_grad():
                gap = (agent.policy_net(probe) - agent.target_net(probe)).abs().mean()
                print(f'episode {ep} return {ret:.2f} mean Q {agent.policy_net(probe).mean():.2f} '
                      f'|Q policy - Q target| {gap:.5f}')


if __name__ == '__main__':
    main()
