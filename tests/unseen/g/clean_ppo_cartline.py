"""CORRECT. PPO: the advantages use state_values.detach() so that the policy term does not move the critic, which learns by the mean squared error in the same loss; acting is done by policy_old under no_grad.
THREAD: https://github.com/nikhilbarhate99/PPO-PyTorch/issues/43
"""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class LineCart:
    """Keep a drifting cart near the middle of a line."""

    def __init__(self, seed=0, limit=50):
        self.rng, self.limit = np.random.default_rng(seed), limit

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-0.5, 0.5), 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        self.v += 0.12 * (1 if action == 1 else -1) + 0.02 * self.rng.normal() + 0.03 * np.sign(self.x)
        self.x += 0.3 * self.v
        self.t += 1
        out = abs(self.x) > 1.5
        reward = -1.0 if out else 0.1 - 0.1 * abs(self.x)
        return np.array([self.x, self.v], dtype=np.float32), reward, out or self.t >= self.limit


class RolloutBuffer:
    def __init__(self):
        self.actions = []
        self.states = []
        self.logprobs = []
        self.rewards = []
        self.state_values = []
        self.is_terminals = []

    def clear(self):
        for lst in (self.actions, self.states, self.logprobs, self.rewards, self.state_values, self.is_terminals):
            del lst[:]


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super(ActorCritic, self).__init__()
        self.actor = nn.Sequential(
            nn.Linear(state_dim, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, action_dim), nn.Softmax(dim=-1))
        self.critic = nn.Sequential(
            nn.Linear(state_dim, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self):
        raise NotImplementedError

    def act(self, state):
        dist = Categorical(self.actor(state))
        action = dist.sample()
        action_logprob = dist.log_prob(action)
        state_val = self.critic(state)
        return action.detach(), action_logprob.detach(), state_val.detach()

    def evaluate(self, state, action):
        dist = Categorical(self.actor(state))
        return dist.log_prob(action), self.critic(state), dist.entropy()


class PPO:
    def __init__(self, state_dim, action_dim, lr_actor=3e-3, lr_critic=6e-3, gamma=0.97, K_epochs=12, eps_clip=0.2):
        self.gamma, self.eps_clip, self.K_epochs = gamma, eps_clip, K_epochs
        self.buffer = RolloutBuffer()
        self.policy = ActorCritic(state_dim, action_dim)
        self.optimizer = torch.optim.Adam([
            {'params': self.policy.actor.parameters(), 'lr': lr_actor},
            {'params': self.policy.critic.parameters(), 'lr': lr_critic}
        ])
        self.policy_old = ActorCritic(state_dim, action_dim)
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.MseLoss = nn.MSELoss()

    def select_action(self, state):
        with torch.no_grad():
            state = torch.FloatTensor(state)
            action, action_logprob, state_val = self.policy_old.act(state)
        self.buffer.states.append(state)
        self.buffer.actions.append(action)
        self.buffer.logprobs.append(action_logprob)
        self.buffer.state_values.append(state_val)
        return action.item()

    def update(self):
        # Monte Carlo estimate of returns
        rewards = []
        discounted_reward = 0
        for reward, is_terminal in zip(reversed(self.buffer.rewards), reversed(self.buffer.is_terminals)):
            if is_terminal:
                discounted_reward = 0
            discounted_reward = reward + (self.gamma * discounted_reward)
            rewards.insert(0, discounted_reward)

        # Normalizing the rewards
        rewards = torch.tensor(rewards, dtype=torch.float32)
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)

        old_states = torch.stack(self.buffer.states, dim=0).detach()
        old_actions = torch.stack(self.buffer.actions, dim=0).detach()
        old_logprobs = torch.stack(self.buffer.logprobs, dim=0).detach()

        for _ in range(self.K_epochs):
            logprobs, state_values, dist_entropy = self.policy.evaluate(old_states, old_actions)
            state_values = torch.squeeze(state_values)
            ratios = torch.exp(logprobs - old_logprobs.detach())
            advantages = rewards - state_values.detach()
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * self.MseLoss(state_values, rewards) - 0.01 * dist_entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()

        # Copy new weights into old policy
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.buffer.clear()
        return loss.mean().item()


def train():
    torch.manual_seed(0)
    env, agent = LineCart(), PPO(2, 2)
    for update in range(10):
        returns = []
        for _ in range(8):
            state, done, total = env.reset(), False, 0.0
            while not done:
                action = agent.select_action(state)
                state, reward, done = env.step(action)
                agent.buffer.rewards.append(reward)
                agent.buffer.is_terminals.append(done)
                total += reward
            returns.append(total)
        loss = agent.update()
        print('update %d mean return %.3f loss %.4f' % (update, np.mean(returns), loss))


train()
