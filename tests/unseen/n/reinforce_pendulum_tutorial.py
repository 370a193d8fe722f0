"""WRONG. REINFORCE after the tutorial: the reward does not get better than at the start, the loss printed is about 0 and the policy does not move.
TRUTH: update() takes the mean of the log-probabilities before weighting, so every action gets the same (summed) weight; use the elementwise product log_probs * deltas.
THREAD: https://github.com/Farama-Foundation/Gymnasium/issues/1336
"""
import torch
import torch.nn as nn
from torch.distributions.normal import Normal

torch.manual_seed(0)


class ReachEnv:
    """a point has to be pushed to the origin"""

    def __init__(self, n_steps=30):
        self.n_steps = n_steps

    def reset(self):
        self.x = torch.randn(2)
        self.t = 0
        return self.x.clone()

    def step(self, action):
        error = (action + self.x).pow(2).sum().item()
        self.x = torch.randn(2)
        self.t += 1
        return self.x.clone(), -error, self.t >= self.n_steps


class Policy_Network(nn.Module):
    def __init__(self, obs_space_dims, action_space_dims):
        super().__init__()
        self.shared_net = nn.Sequential(
            nn.Linear(obs_space_dims, 16), nn.Tanh(),
            nn.Linear(16, 32), nn.Tanh(),
        )
        self.policy_mean_net = nn.Linear(32, action_space_dims)
        self.policy_stddev_net = nn.Linear(32, action_space_dims)

    def forward(self, x):
        shared_features = self.shared_net(x)
        action_means = self.policy_mean_net(shared_features)
        action_stddevs = torch.log(1 + torch.exp(self.policy_stddev_net(shared_features)))
        return action_means, action_stddevs


class REINFORCE:
    def __init__(self, obs_space_dims, action_space_dims):
        self.learning_rate = 5e-3
        self.gamma = 0.0
        self.eps = 1e-6
        self.probs = []
        self.rewards = []
        self.net = Policy_Network(obs_space_dims, action_space_dims)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.learning_rate)

    def sample_action(self, state):
        action_means, action_stddevs = self.net(state)
        distrib = Normal(action_means + self.eps, action_stddevs + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action).sum())
        return action

    def update(self):
        """Updates the policy network's weights."""
        running_g = 0
        gs = []
        # Discounted return (backwards)
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)

        deltas = torch.tensor(gs)
        deltas = (deltas - deltas.mean()) / (deltas.std() + self.eps)

        log_probs = torch.stack(self.probs)
        log_prob_mean = log_probs.mean()  # CULPRIT
        # Update the loss with the log probability and deltas
        loss = -torch.sum(log_prob_mean * deltas)

        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.optimizer.step()

        # Empty / zero out all episode-centric/related variables
        self.probs = []
        self.rewards = []
        return loss.item()


@torch.no_grad()
def test_policy(agent, n=200):
    x = torch.randn(n, 2)
    mean, std = agent.net(x)
    return (mean + x).pow(2).sum(1).mean().item(), std.mean().item()


def main():
    env = ReachEnv()
    agent = REINFORCE(2, 2)
    reward_over_episodes = []
    for episode in range(150):
        obs, done = env.reset(), False
        total = 0.0
        while not done:
            action = agent.sample_action(obs)
            obs, reward, done = env.step(action)
            agent.rewards.append(reward)
            total += reward
        loss = agent.update()
        reward_over_episodes.append(total)
        if episode % 30 == 29:
            avg = sum(reward_over_episodes[-30:]) / 30
            err, std = test_policy(agent)
            print(f"Episode {episode + 1} average reward {avg:.2f} loss {loss:.5f} mean error {err:.3f} std {std:.3f}")


if __name__ == "__main__":
    main()
