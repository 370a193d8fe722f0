"""WRONG. It makes no difference how often I update the target network of my dueling DQN (every 2 or every 1000 steps), and the logged distance between policy net and target net is 0.0 in every episode, also between two updates.
TRUTH: model.to(device) returns the module itself, so policy_net and target_net are the same object; the target needs its own copy: self.target_net = copy.deepcopy(model).to(self.device).
THREAD: https://github.com/datawhalechina/easy-rl/issues/140
"""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)

DEFAULTS = dict(n_states=6, n_actions=2, hidden_dim=24, gamma=0.9, lr=0.005, batch_size=32, memory_capacity=400,
                target_update=10, train_eps=30, max_steps=20, epsilon_start=0.9, epsilon_end=0.1, epsilon_decay=120, device="cpu")


class Corridor:
    """Cells 0..n-1, reward only at the right end."""

    def __init__(self, n):
        self.n = n

    def encode(self):
        return F.one_hot(torch.tensor(self.pos), self.n).float()

    def reset(self):
        self.pos = 0
        return self.encode()

    def step(self, action):
        self.pos = max(0, min(self.n - 1, self.pos + (1 if action == 1 else -1)))
        done = self.pos == self.n - 1
        return self.encode(), (1.0 if done else -0.01), done


class DuelingNet(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=128):
        super().__init__()
        self.hidden_layer = nn.Sequential(nn.Linear(n_states, hidden_dim), nn.ReLU())
        self.advantage_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, n_actions))
        self.value_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, state):
        x = self.hidden_layer(state)
        advantage = self.advantage_layer(x)
        value = self.value_layer(x)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, transition):
        self.buffer.append(transition)

    def sample(self, batch_size):
        return zip(*random.sample(self.buffer, batch_size))

    def __len__(self):
        return len(self.buffer)


class DuelingDQN:
    def __init__(self, model, memory, cfg):
        self.cfg = cfg
        self.device = torch.device(cfg["device"])
        self.policy_net = model.to(self.device)
        self.target_net = model.to(self.device)  # CULPRIT
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=cfg["lr"])
        self.memory = memory
        self.sample_count = 0
        self.update_count = 0

    def epsilon(self):
        c = self.cfg
        return c["epsilon_end"] + (c["epsilon_start"] - c["epsilon_end"]) * 2.0 ** (-self.sample_count / c["epsilon_decay"])

    def sample_action(self, state):
        self.sample_count += 1
        if random.random() < self.epsilon():
            return random.randrange(self.cfg["n_actions"])
        return self.predict_action(state)

    @torch.no_grad()
    def predict_action(self, state):
        return self.policy_net(state.unsqueeze(0).to(self.device)).argmax(dim=1).item()

    def update(self):
        if len(self.memory) < self.cfg["batch_size"]:
            return None
        states, actions, rewards, next_states, dones = self.memory.sample(self.cfg["batch_size"])
        states, next_states = torch.stack(states), torch.stack(next_states)
        actions = torch.tensor(actions).unsqueeze(1)
        rewards = torch.tensor(rewards).unsqueeze(1)
        dones = torch.tensor(dones, dtype=torch.float).unsqueeze(1)
        q_values = self.policy_net(states).gather(1, actions)
        next_q_values = self.target_net(next_states).max(1)[0].detach().unsqueeze(1)
        expected = rewards + self.cfg["gamma"] * next_q_values * (1 - dones)
        loss = F.mse_loss(q_values, expected)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy_net.parameters(), 1.0)
        self.optimizer.step()
        self.update_count += 1
        if self.update_count % self.cfg["target_update"] == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())
        return loss.item()

    @torch.no_grad()
    def net_distance(self):
        pairs = zip(self.policy_net.parameters(), self.target_net.parameters())
        return sum((p - t).pow(2).sum() for p, t in pairs).sqrt().item()


def main():
    cfg = copy.deepcopy(DEFAULTS)
    env = Corridor(cfg["n_states"])
    agent = DuelingDQN(DuelingNet(cfg["n_states"], cfg["n_actions"], cfg["hidden_dim"]), ReplayBuffer(cfg["memory_capacity"]), cfg)
    distances = []
    for i_ep in range(cfg["train_eps"]):
        state, ep_reward = env.reset(), 0.0
        for _ in range(cfg["max_steps"]):
            action = agent.sample_action(state)
            next_state, reward, done = env.step(action)
            agent.memory.push((state, action, reward, next_state, done))
            loss = agent.update()
            state, ep_reward = next_state, ep_reward + reward
            if done:
                break
        distances.append(agent.net_distance())
        if i_ep % 6 == 5:
            print(f"episode {i_ep + 1:3d}  reward {ep_reward:6.2f}  loss {loss if loss is None else round(loss, 5)}  distance to target {distances[-1]:.4f}")
    print(f"largest distance between policy net and target net: {max(distances):.4f}")


if __name__ == "__main__":
    main()
