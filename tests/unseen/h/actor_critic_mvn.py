"""WRONG. The actor critic with a multivariate normal policy runs for any number of episodes, but the actor's weights are never updated.
TRUTH: The policy means are computed from policy_thetas.detach().numpy() and wrapped into a new tensor, so log_probs has no connection with the actor; keep it in torch.
THREAD: https://discuss.pytorch.org/t/actor-critic-with-multivariate-normal-network-weights-fail-to-update/74548
"""
import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import multivariate_normal as mn

T.manual_seed(0)
np.random.seed(0)


class AntennaEnv(object):
    """point an antenna (azimuth, elevation) to the satellite"""

    def reset(self):
        self.steps = 0
        self._new_satellite()
        return self.state

    def _new_satellite(self):
        self.best = np.array([np.random.uniform(1, 5), np.random.uniform(0.3, 1.3)])
        self.state = np.array([np.cos(self.best[0]), np.sin(self.best[0]),
                               np.cos(self.best[1]), np.sin(self.best[1])])

    def step(self, action):
        d = np.asarray(action) - self.best
        reward = 1.0 - min(float((d ** 2).sum()), 6.0) / 3.0
        self.steps += 1
        self._new_satellite()
        return self.state, reward, self.steps >= 20


class GenericNetwork(nn.Module):
    def __init__(self, alpha, input_dims, fc1_dims, fc2_dims, n_actions):
        super(GenericNetwork, self).__init__()
        self.fc1 = nn.Linear(input_dims, fc1_dims)
        self.fc2 = nn.Linear(fc1_dims, fc2_dims)
        self.fc3 = nn.Linear(fc2_dims, n_actions)
        self.optimizer = optim.Adam(self.parameters(), lr=alpha)

    def forward(self, observation):
        state = T.tensor(observation, dtype=T.float)
        x = F.relu(self.fc1(state))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def get_params_from_policy_thetas(thetas):
    mu = np.array([2 * np.pi, np.pi / 2]) * thetas
    S = np.array([[0.09, 0.0], [0.0, 0.02]])
    return mu, S


class Agent(object):
    def __init__(self, alpha, beta, input_dims, gamma=0.0, l1_size=32, l2_size=32):
        self.gamma = gamma
        self.log_probs = None
        self.actor = GenericNetwork(alpha, input_dims, l1_size, l2_size, n_actions=2)
        self.critic = GenericNetwork(beta, input_dims, l1_size, l2_size, n_actions=1)

    def choose_action(self, observation):
        policy_thetas = T.sigmoid(self.actor.forward(observation))
        mu, S = get_params_from_policy_thetas(policy_thetas.detach().numpy())  # CULPRIT
        action_probs = mn.MultivariateNormal(T.FloatTensor(mu), T.FloatTensor(S))
        action = action_probs.sample()
        self.log_probs = action_probs.log_prob(action)
        return action.numpy()

    def learn(self, state, reward, new_state, done):
        self.actor.optimizer.zero_grad()
        self.critic.optimizer.zero_grad()

        critic_value = self.critic.forward(state)
        critic_value_ = self.critic.forward(new_state)

        reward = T.tensor(reward, dtype=T.float)
        delta = (reward + self.gamma * critic_value_ * (1 - int(done))) - critic_value

        actor_loss = -self.log_probs * delta.detach()
        critic_loss = delta ** 2

        (actor_loss + critic_loss).backward()

        self.actor.optimizer.step()
        self.critic.optimizer.step()


if __name__ == '__main__':
    agent = Agent(alpha=0.002, beta=0.005, input_dims=4)
    env = AntennaEnv()
    score_history = []
    for i in range(81):
        done = False
        score = 0
        observation = env.reset()
        while not done:
            action = agent.choose_action(observation)
            observation_, reward, done = env.step(action)
            agent.learn(observation, reward, observation_, done)
            observation = observation_
            score += reward
        score_history.append(score)
        if i % 20 == 0:
            weights = sum(p.abs().sum().item() for p in agent.actor.parameters())
            print('episode', i, 'score %.2f' % np.mean(score_history[-20:]), 'actor weights %.4f' % weights)
