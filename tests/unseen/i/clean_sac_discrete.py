"""CORRECT. Discrete SAC: expectations are sums over the actions weighted with the action probabilities, q detached for the policy, mean only over the batch with the importance weights (asked whether the policy loss is wrong, answered that it is right); temperature on detached entropies.
THREAD: https://github.com/toshikwa/sac-discrete.pytorch/issues/7
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam

torch.manual_seed(0)
N_ACT = 4


class CateoricalPolicy(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, N_ACT))

    def sample(self, states):
        action_probs = F.softmax(self.head(states), dim=1)
        z = (action_probs == 0.0).float() * 1e-8
        log_action_probs = torch.log(action_probs + z)
        return action_probs, log_action_probs


class TwinnedQNetwork(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.Q1 = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, N_ACT))
        self.Q2 = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, N_ACT))

    def forward(self, states):
        return self.Q1(states), self.Q2(states)


class SacdAgent:
    def __init__(self, dim=3, gamma=0.5):
        self.policy = CateoricalPolicy(dim)
        self.online_critic = TwinnedQNetwork(dim)
        self.target_critic = copy.deepcopy(self.online_critic).eval().requires_grad_(False)
        self.policy_optim = Adam(self.policy.parameters(), lr=2e-3)
        self.q1_optim = Adam(self.online_critic.Q1.parameters(), lr=3e-3)
        self.q2_optim = Adam(self.online_critic.Q2.parameters(), lr=3e-3)
        self.target_entropy = 0.3
        self.log_alpha = torch.tensor([-1.0], requires_grad=True)
        self.alpha = self.log_alpha.exp()
        self.alpha_optim = Adam([self.log_alpha], lr=3e-3)
        self.gamma = gamma

    def calc_target_q(self, rewards, next_states):
        with torch.no_grad():
            action_probs, log_action_probs = self.policy.sample(next_states)
            next_q = torch.min(*self.target_critic(next_states))
            next_q = (action_probs * (next_q - self.alpha * log_action_probs)).sum(dim=1, keepdim=True)
        return rewards + self.gamma * next_q

    def calc_policy_loss(self, states, weights):
        action_probs, log_action_probs = self.policy.sample(states)
        with torch.no_grad():
            q = torch.min(*self.online_critic(states))
        entropies = -torch.sum(action_probs * log_action_probs, dim=1, keepdim=True)
        q = torch.sum(q * action_probs, dim=1, keepdim=True)
        policy_loss = (weights * (- q - self.alpha.detach() * entropies)).mean()
        return policy_loss, entropies.detach()

    def learn(self, states, actions, rewards, next_states, weights):
        curr_q1, curr_q2 = (c.gather(1, actions) for c in self.online_critic(states))
        target_q = self.calc_target_q(rewards, next_states)
        q1_loss = torch.mean((curr_q1 - target_q).pow(2) * weights)
        q2_loss = torch.mean((curr_q2 - target_q).pow(2) * weights)
        policy_loss, entropies = self.calc_policy_loss(states, weights)
        entropy_loss = -torch.mean(self.log_alpha * (self.target_entropy - entropies) * weights)
        for optim, loss in ((self.q1_optim, q1_loss), (self.q2_optim, q2_loss),
                            (self.policy_optim, policy_loss), (self.alpha_optim, entropy_loss)):
            optim.zero_grad()
            loss.backward()
            optim.step()
        self.alpha = self.log_alpha.exp()
        return q1_loss.item(), policy_loss.item()


agent = SacdAgent()
for step in range(1, 801):
    states, next_states = torch.randn(64, 3), torch.randn(64, 3)
    right = (states[:, :1] > 0).long() * 2 + (states[:, 1:2] > 0).long()
    actions = torch.randint(0, N_ACT, (64, 1))
    rewards = (actions == right).float()
    losses = agent.learn(states, actions, rewards, next_states, torch.rand(64, 1) + 0.5)
    if step % 50 == 0:
        agent.target_critic.load_state_dict(agent.online_critic.state_dict())
    if step % 200 == 0:
        with torch.no_grad():
            hit = (agent.policy.sample(states)[0].argmax(1, keepdim=True) == right).float().mean()
        print('step %d q %.4f pi %.4f alpha %.3f greedy right %.3f' % (step, *losses, agent.alpha.item(), hit))
