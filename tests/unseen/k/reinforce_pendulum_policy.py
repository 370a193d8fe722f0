"""WRONG. My REINFORCE agent with a Gaussian policy (after the Mujoco tutorial, returns normalised per episode) does not learn at all; the printed loss is about 1e-5 in every episode.
TRUTH: the log probabilities are averaged over the episode before they are multiplied with the returns, so every action gets the same factor sum(deltas), which is zero for normalised returns; each log probability must be multiplied with its own return: loss = -(log_probs * deltas).sum().
THREAD: https://github.com/Farama-Foundation/Gymnasium/issues/1336
"""
import random

import torch
import torch.nn as nn
from torch.distributions.normal import Normal

torch.manual_seed(0)
random.seed(0)


class Policy_Network(nn.Module):
    """Parametrized policy: mean and standard deviation of a normal distribution."""

    def __init__(self, obs_space_dims, action_space_dims):
        super().__init__()
        hidden_space1, hidden_space2 = 16, 32
        self.shared_net = nn.Sequential(
            nn.Linear(obs_space_dims, hidden_space1), nn.Tanh(),
            nn.Linear(hidden_space1, hidden_space2), nn.Tanh(),
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
        self.learning_rate = 5e-3
        self.gamma = 0.5
        self.eps = 1e-6
        self.probs = []
        self.rewards = []
        self.net = Policy_Network(obs_space_dims, action_space_dims)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.learning_rate)

    def sample_action(self, state):
        action_means, action_stddevs = self.net(state)
        distrib = Normal(action_means + self.eps, action_stddevs + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action).sum(dim=-1))
        return action

    def update(self):
        running_g = 0
        gs = []
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)
        deltas = torch.tensor(gs)
        deltas = (deltas - deltas.mean()) / (deltas.std() + self.eps)
        log_probs = torch.stack(self.probs)
        log_prob_mean = log_probs.mean()
        loss = -torch.sum(log_prob_mean * deltas)  # CULPRIT
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        mean_log_prob = log_prob_mean.item()
        self.probs = []
        self.rewards = []
        return loss.item(), mean_log_prob


class BalanceEnv:
    """The torque should answer the (random) push; a new push arrives at each step."""

    def __init__(self, horizon=40):
        self.horizon = horizon

    def reset(self):
        self.t = 0
        self.push = torch.rand(2) * 2 - 1
        return self.push

    def step(self, torque):
        want = 0.8 * self.push[:1] - 0.4 * self.push[1:]
        reward = -((torque - want).abs()).item()
        self.push = torch.rand(2) * 2 - 1
        self.t += 1
        return self.push, reward, self.t >= self.horizon


class EpisodeStatistics:
    def __init__(self, length):
        self.returns, self.length = [], length

    def push(self, episode_return):
        self.returns.append(episode_return)

    def mean(self):
        last = self.returns[-self.length:]
        return sum(last) / len(last)


def main():
    env, stats = BalanceEnv(), EpisodeStatistics(15)
    agent = REINFORCE(obs_space_dims=2, action_space_dims=1)
    for episode in range(45):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            action = agent.sample_action(obs)
            obs, reward, done = env.step(action)
            agent.rewards.append(reward)
            total += reward
        loss, mean_log_prob = agent.update()
        stats.push(total)
        if episode % 15 == 14:
            print(f"episode {episode + 1:3d}  average return {stats.mean():7.2f}  loss {loss:11.3e}  mean log prob {mean_log_prob:.3f}")


if __name__ == "__main__":
    main()
