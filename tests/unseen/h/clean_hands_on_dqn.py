"""CORRECT. DQN whose TD target is not detached: the target network's parameters belong to no optimizer and are only overwritten by load_state_dict, so the surplus gradients never matter (asked; measured: same result).
THREAD: https://github.com/boyu-ai/Hands-on-RL/issues/112
"""
import collections
import random

import numpy as np
import torch
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class CorridorEnv:
    """walk to the right end of a corridor; a wrong step costs"""

    def __init__(self, n=8):
        self.n = n

    def reset(self):
        self.pos, self.t = 0, 0
        return self._state()

    def _state(self):
        s = np.zeros(self.n, dtype=np.float32)
        s[self.pos] = 1
        return s

    def step(self, action):
        self.t += 1
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), self.n - 1)
        goal = self.pos == self.n - 1
        return self._state(), 1.0 if goal else -0.05, goal or self.t >= 40


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = collections.deque(maxlen=capacity)

    def add(self, *transition):
        self.buffer.append(transition)

    def sample(self, batch_size):
        state, action, reward, next_state, done = zip(*random.sample(self.buffer, batch_size))
        return np.array(state), action, reward, np.array(next_state), done

    def size(self):
        return len(self.buffer)


class Qnet(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super(Qnet, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim, hidden_dim)
        self.fc2 = torch.nn.Linear(hidden_dim, action_dim)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class DQN:
    def __init__(self, state_dim, hidden_dim, action_dim, learning_rate, gamma, epsilon, target_update):
        self.action_dim = action_dim
        self.q_net = Qnet(state_dim, hidden_dim, action_dim)
        self.target_q_net = Qnet(state_dim, hidden_dim, action_dim)
        self.target_q_net.load_state_dict(self.q_net.state_dict())
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=learning_rate)
        self.gamma = gamma
        self.epsilon = epsilon
        self.target_update = target_update
        self.count = 0

    def take_action(self, state):
        if np.random.random() < self.epsilon:
            return np.random.randint(self.action_dim)
        return self.q_net(torch.tensor(state[None])).argmax().item()

    def update(self, transition):
        state, action, reward, next_state, done = transition
        states = torch.tensor(state)
        actions = torch.tensor(action).view(-1, 1)
        rewards = torch.tensor(reward, dtype=torch.float).view(-1, 1)
        next_states = torch.tensor(next_state)
        dones = torch.tensor(done, dtype=torch.float).view(-1, 1)

        q_values = self.q_net(states).gather(1, actions)
        max_next_q_values = self.target_q_net(next_states).max(1)[0].view(-1, 1)
        q_targets = rewards + self.gamma * max_next_q_values * (1 - dones)
        dqn_loss = torch.mean(F.mse_loss(q_values, q_targets))
        self.optimizer.zero_grad()
        dqn_loss.backward()
        self.optimizer.step()

        if self.count % self.target_update == 0:
            self.target_q_net.load_state_dict(self.q_net.state_dict())
        self.count += 1


env = CorridorEnv()
agent = DQN(env.n, 32, 2, 2e-3, 0.95, 0.1, 20)
buffer = ReplayBuffer(2000)
return_list = []
for i_episode in range(120):
    episode_return, done = 0, False
    state = env.reset()
    while not done:
        action = agent.take_action(state)
        next_state, reward, done = env.step(action)
        buffer.add(state, action, reward, next_state, done)
        state = next_state
        episode_return += reward
        if buffer.size() > 100:
            agent.update(buffer.sample(32))
    return_list.append(episode_return)
    if (i_episode + 1) % 30 == 0:
        print('episode %d return %.3f' % (i_episode + 1, np.mean(return_list[-30:])))
