"""WRONG. The soft actor-critic agent stops at its very first learn() with "one of the variables needed for gradient computation has been modified by an inplace operation ... is at version 2; expected version 1"; there is no inplace operation in my networks.
TRUTH: the policy loss (which runs through Q1 and Q2) is computed before the two critic updates, and the optimizer steps of the critics change the weights it needs for its backward; calc_policy_loss must be called after both critic updates.
THREAD: https://github.com/toshikwa/soft-actor-critic.pytorch/issues/1
"""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


def mlp(n_in, n_out, n_hidden=32):
    return nn.Sequential(nn.Linear(n_in, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_out))


class GaussianPolicy(nn.Module):
    LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0

    def __init__(self, n_state, n_action):
        super().__init__()
        self.net = mlp(n_state, 2 * n_action)

    def forward(self, states):
        mean, log_std = self.net(states).chunk(2, dim=-1)
        return mean, log_std.clamp(self.LOG_STD_MIN, self.LOG_STD_MAX)

    def sample(self, states):
        mean, log_std = self(states)
        normal = Normal(mean, log_std.exp())
        xs = normal.rsample()
        actions = torch.tanh(xs)
        log_probs = normal.log_prob(xs) - torch.log(1 - actions.pow(2) + 1e-6)
        return actions, -log_probs.sum(dim=1, keepdim=True), torch.tanh(mean)


class TwinnedQNetwork(nn.Module):
    def __init__(self, n_state, n_action):
        super().__init__()
        self.Q1 = mlp(n_state + n_action, 1)
        self.Q2 = mlp(n_state + n_action, 1)

    def forward(self, states, actions):
        x = torch.cat([states, actions], dim=1)
        return self.Q1(x), self.Q2(x)


class ReplayMemory:
    """Transitions of a damped point mass which should be driven to the origin."""

    def __init__(self, size=512):
        s = torch.randn(size, 2)
        a = torch.rand(size, 1) * 2 - 1
        pos = s[:, :1] + 0.1 * s[:, 1:]
        vel = 0.9 * s[:, 1:] + 0.5 * a
        r = -(pos.pow(2) + 0.1 * vel.pow(2) + 0.01 * a.pow(2))
        done = (torch.rand(size, 1) < 0.05).float()
        self.data = (s, a, r, torch.cat([pos, vel], dim=1), done)

    def sample(self, batch_size):
        idx = torch.randint(len(self.data[0]), (batch_size,))
        return tuple(d[idx] for d in self.data)


def update_params(optim, network, loss, grad_clip=None):
    optim.zero_grad()
    loss.backward()
    if grad_clip is not None:
        nn.utils.clip_grad_norm_(network.parameters(), grad_clip)
    optim.step()


def soft_update(target, source, tau):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.mul_(1.0 - tau).add_(s, alpha=tau)


class SacAgent:
    def __init__(self, lr=3e-3, gamma=0.95, tau=0.02, grad_clip=5.0):
        self.gamma, self.tau, self.grad_clip = gamma, tau, grad_clip
        self.policy = GaussianPolicy(2, 1)
        self.critic = TwinnedQNetwork(2, 1)
        self.critic_target = copy.deepcopy(self.critic).eval().requires_grad_(False)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.q1_optim = torch.optim.Adam(self.critic.Q1.parameters(), lr=lr)
        self.q2_optim = torch.optim.Adam(self.critic.Q2.parameters(), lr=lr)
        self.target_entropy = -1.0
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp().detach()
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=lr)

    def calc_critic_loss(self, batch):
        states, actions, rewards, next_states, dones = batch
        with torch.no_grad():
            next_actions, next_entropies, _ = self.policy.sample(next_states)
            next_q = torch.min(*self.critic_target(next_states, next_actions)) + self.alpha * next_entropies
            target_q = rewards + (1.0 - dones) * self.gamma * next_q
        curr_q1, curr_q2 = self.critic(states, actions)
        return F.mse_loss(curr_q1, target_q), F.mse_loss(curr_q2, target_q)

    def calc_policy_loss(self, batch):
        sampled_action, entropy, _ = self.policy.sample(batch[0])
        q = torch.min(*self.critic(batch[0], sampled_action))
        return (-q - self.alpha * entropy).mean(), entropy

    def calc_entropy_loss(self, entropy):
        return -(self.log_alpha * (self.target_entropy - entropy).detach()).mean()

    def learn(self, batch):
        q1_loss, q2_loss = self.calc_critic_loss(batch)
        policy_loss, entropies = self.calc_policy_loss(batch)  # CULPRIT

        update_params(self.q1_optim, self.critic.Q1, q1_loss, self.grad_clip)
        update_params(self.q2_optim, self.critic.Q2, q2_loss, self.grad_clip)
        update_params(self.policy_optim, self.policy, policy_loss, self.grad_clip)

        entropy_loss = self.calc_entropy_loss(entropies)
        update_params(self.alpha_optim, None, entropy_loss)
        self.alpha = self.log_alpha.exp().detach()
        soft_update(self.critic_target, self.critic, self.tau)
        return q1_loss.item(), policy_loss.item(), entropies.mean().item()


def main():
    memory, agent = ReplayMemory(), SacAgent()
    for step in range(50):
        q1, pi, ent = agent.learn(memory.sample(64))
        if step % 10 == 0 or step == 49:
            print(f"step {step:2d}  q1 {q1:8.3f}  policy {pi:7.3f}  entropy {ent:6.3f}  alpha {agent.alpha.item():.3f}")


if __name__ == "__main__":
    main()
