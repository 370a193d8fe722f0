"""WRONG. After updating torch the off-policy trainer dies in policy_loss.backward(): "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: q_new_actions is computed through qf1/qf2 before qf1_optimizer.step() and qf2_optimizer.step() write their weights in place, so the policy loss goes back through weights that no longer exist; compute q_new_actions after both critic steps.
THREAD: https://github.com/microsoft/oac-explore/issues/27
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class FlattenMlp(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.last_fc = nn.Linear(hidden_size, output_size)

    def forward(self, *inputs):
        h = torch.cat(inputs, dim=1)
        h = F.relu(self.fc1(h))
        h = F.relu(self.fc2(h))
        return self.last_fc(h)


class TanhGaussianPolicy(nn.Module):
    def __init__(self, obs_dim, action_dim, hidden_size):
        super().__init__()
        self.fc = nn.Linear(obs_dim, hidden_size)
        self.mean = nn.Linear(hidden_size, action_dim)
        self.log_std = nn.Linear(hidden_size, action_dim)

    def forward(self, obs):
        h = F.relu(self.fc(obs))
        mean = self.mean(h)
        std = self.log_std(h).clamp(-5, 2).exp()
        pre_tanh = Normal(mean, std).rsample()
        action = torch.tanh(pre_tanh)
        log_pi = Normal(mean, std).log_prob(pre_tanh) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_pi.sum(dim=1, keepdim=True)


class SACTrainer:
    def __init__(self, obs_dim, action_dim, discount=0.9, tau=0.05, lr=3e-3, hidden=32):
        self.policy = TanhGaussianPolicy(obs_dim, action_dim, hidden)
        self.qf1, self.qf2, self.target_qf1, self.target_qf2 = [
            FlattenMlp(obs_dim + action_dim, hidden, 1) for _ in range(4)]
        self.target_qf1.load_state_dict(self.qf1.state_dict())
        self.target_qf2.load_state_dict(self.qf2.state_dict())
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=lr)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.qf1_optimizer = torch.optim.Adam(self.qf1.parameters(), lr=lr)
        self.qf2_optimizer = torch.optim.Adam(self.qf2.parameters(), lr=lr)
        self.target_entropy = -float(action_dim)
        self.discount, self.tau = discount, tau

    def soft_update(self, source, target):
        with torch.no_grad():
            for p, tp in zip(source.parameters(), target.parameters()):
                tp.lerp_(p, self.tau)

    def train_from_torch(self, batch):
        obs, actions = batch["observations"], batch["actions"]
        rewards, terminals, next_obs = batch["rewards"], batch["terminals"], batch["next_observations"]

        new_obs_actions, log_pi = self.policy(obs)
        alpha_loss = -(self.log_alpha * (log_pi + self.target_entropy).detach()).mean()
        self.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.alpha_optimizer.step()
        alpha = self.log_alpha.exp().detach()

        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))  # CULPRIT

        with torch.no_grad():
            new_next_actions, new_log_pi = self.policy(next_obs)
            target_q = torch.min(self.target_qf1(next_obs, new_next_actions),
                                 self.target_qf2(next_obs, new_next_actions)) - alpha * new_log_pi
            q_target = rewards + (1. - terminals) * self.discount * target_q
        qf1_loss = F.mse_loss(self.qf1(obs, actions), q_target)
        qf2_loss = F.mse_loss(self.qf2(obs, actions), q_target)

        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()
        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        policy_loss = (alpha * log_pi - q_new_actions).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()

        self.soft_update(self.qf1, self.target_qf1)
        self.soft_update(self.qf2, self.target_qf2)
        return {"qf1": qf1_loss.item(), "qf2": qf2_loss.item(), "policy": policy_loss.item()}


def sample_batch(n=64, obs_dim=3, action_dim=2):
    obs = torch.randn(n, obs_dim)
    actions = torch.rand(n, action_dim) * 2 - 1
    rewards = -(actions - 0.5 * torch.tanh(obs[:, :action_dim])).pow(2).sum(1, keepdim=True)
    return dict(observations=obs, actions=actions, rewards=rewards,
                terminals=(torch.rand(n, 1) < 0.1).float(), next_observations=obs + 0.1 * torch.randn_like(obs))


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = SACTrainer(3, 2)
    for it in range(40):
        stats = trainer.train_from_torch(sample_batch())
        if it % 10 == 0:
            print(it, {k: round(v, 4) for k, v in stats.items()})
    print("done", {k: round(v, 4) for k, v in stats.items()})
