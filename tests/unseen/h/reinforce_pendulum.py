"""WRONG. The REINFORCE agent of the tutorial learns badly, the return goes up only slowly and noisily.
TRUTH: update() takes the mean of the log probabilities over the whole episode before it multiplies with the returns, so each action's own return is lost; use the elementwise product log_probs * deltas.
THREAD: https://github.com/Farama-Foundation/Gymnasium/issues/1336
"""
import random

import numpy as np
import torch
import torch.nn as nn
from torch.distributions.normal import Normal

seed = 3
torch.manual_seed(seed)
random.seed(seed)
np.random.seed(seed)


class CartEnv:
    """a point mass that must be pushed to the target shown in the observation"""

    def reset(self):
        self.t = 0
        self.target = np.random.uniform(-1, 1)
        return self._obs()

    def _obs(self):
        return np.array([self.target, 1.0], dtype=np.float32)

    def step(self, action):
        reward = float(np.exp(-2 * (float(action) - self.target) ** 2)) - 0.4
        self.t += 1
        self.target = np.random.uniform(-1, 1)
        return self._obs(), reward, self.t >= 20


class Policy_Network(nn.Module):
    def __init__(self, obs_space_dims, action_space_dims):
        super().__init__()
        hidden_space1 = 16
        hidden_space2 = 32
        self.shared_net = nn.Sequential(
            nn.Linear(obs_space_dims, hidden_space1),
            nn.Tanh(),
            nn.Linear(hidden_space1, hidden_space2),
            nn.Tanh(),
        )
        self.policy_mean_net = nn.Linear(hidden_space2, action_space_dims)
        self.policy_stddev_net = nn.Linear(hidden_space2, action_space_dims)

    def forward(self, x):
        shared_features = self.shared_net(x.float())
        action_means = self.policy_mean_net(shared_features)
        action_stddevs = torch.log(1 + torch.exp(self.policy_stddev_net(shared_features)))
        return action_means, action_stddevs


class REINFORCE:
    def __init__(self, obs_space_dims, action_space_dims):
        self.learning_rate = 1e-3
        self.gamma = 0.0
        self.eps = 1e-6
        self.probs = []
        self.rewards = []
        self.net = Policy_Network(obs_space_dims, action_space_dims)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.learning_rate)

    def sample_action(self, state):
        state = torch.tensor(np.array([state]))
        action_means, action_stddevs = self.net(state)
        distrib = Normal(action_means[0] + self.eps, action_stddevs[0] + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action).squeeze())
        return action.numpy()[0]

    def update(self):
        running_g = 0
        gs = []
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)
        deltas = torch.tensor(gs)

        log_probs = torch.stack(self.probs)
        log_prob_mean = log_probs.mean()  # CULPRIT
        loss = -torch.sum(log_prob_mean * deltas)

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.probs = []
        self.rewards = []


env = CartEnv()
agent = REINFORCE(2, 1)
rewards_over_seeds = []
for episode in range(210):
    obs = env.reset()
    done = False
    while not done:
        action = agent.sample_action(obs)
        obs, reward, done = env.step(action)
        agent.rewards.append(reward)
    rewards_over_seeds.append(sum(agent.rewards))
    agent.update()
    if (episode + 1) % 70 == 0:
        print("Episode:", episode + 1, "Average Reward:", round(float(np.mean(rewards_over_seeds[-70:])), 2))
