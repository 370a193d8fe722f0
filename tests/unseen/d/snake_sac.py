"""microsoft/oac-explore#27
Symptom: "one of the variables needed for gradient computation has been modified by an inplace operation" at policy_loss.backward().
EXPECT: raises RuntimeError
TRUTH: the Q-values of the policy loss are computed before the optimizer steps of the Q networks change their weights; compute them after those steps.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class FlattenMlp(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.net = mlp([obs_dim + action_dim, 32, 32, 1])

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], dim=1))


class TanhGaussianPolicy(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.net = mlp([obs_dim, 32, 32, 2 * action_dim])

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=1)
        std = log_std.clamp(-5, 1).exp()
        pre = mean + std * torch.randn_like(mean)
        action = torch.tanh(pre)
        log_prob = torch.distributions.Normal(mean, std).log_prob(pre) - torch.log(1 - action ** 2 + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class SACTrainer:
    def __init__(self, obs_dim, action_dim, alpha=0.05, discount=0.5):
        self.policy = TanhGaussianPolicy(obs_dim, action_dim)
        self.qf1, self.qf2 = FlattenMlp(obs_dim, action_dim), FlattenMlp(obs_dim, action_dim)
        self.target_qf1, self.target_qf2 = FlattenMlp(obs_dim, action_dim), FlattenMlp(obs_dim, action_dim)
        self.target_qf1.load_state_dict(self.qf1.state_dict())
        self.target_qf2.load_state_dict(self.qf2.state_dict())
        self.policy_optimizer = Adam(self.policy.parameters(), lr=1e-3)
        self.qf1_optimizer = Adam(self.qf1.parameters(), lr=3e-3)
        self.qf2_optimizer = Adam(self.qf2.parameters(), lr=3e-3)
        self.alpha, self.discount = alpha, discount

    def train_from_torch(self, obs, actions, rewards, next_obs):
        new_obs_actions, log_pi = self.policy(obs)
        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))  # CULPRIT

        q1_pred, q2_pred = self.qf1(obs, actions), self.qf2(obs, actions)
        with torch.no_grad():
            next_actions, next_log_pi = self.policy(next_obs)
            target_q = torch.min(self.target_qf1(next_obs, next_actions), self.target_qf2(next_obs, next_actions))
            q_target = rewards + self.discount * (target_q - self.alpha * next_log_pi)
        qf1_loss, qf2_loss = F.mse_loss(q1_pred, q_target), F.mse_loss(q2_pred, q_target)

        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        policy_loss = (self.alpha * log_pi - q_new_actions).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()

        for net, target in ((self.qf1, self.target_qf1), (self.qf2, self.target_qf2)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.lerp_(p.data, 0.02)
        return qf1_loss.item(), policy_loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    trainer = SACTrainer(obs_dim=3, action_dim=1)
    for it in range(400):
        obs = torch.randn(64, 3)
        actions = torch.rand(64, 1) * 2 - 1
        rewards = -(actions - torch.tanh(obs[:, :1])) ** 2
        q_loss, p_loss = trainer.train_from_torch(obs, actions, rewards, torch.randn(64, 3))
        if it % 80 == 0:
            print("it %d  qf1 loss %.4f  policy loss %.4f" % (it, q_loss, p_loss))
