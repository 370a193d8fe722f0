"""Soft actor-critic with twin critics on a 1-d point task, all losses computed first and the networks stepped afterwards.

TRUTH: The policy loss is computed with the critics' weights before the critic optimizers step, which change these weights in
place; its backward then needs the old version. Symptom: RuntimeError "one of the variables needed for gradient computation
has been modified by an inplace operation ... is at version 2; expected version 1" at policy_loss.backward(). Fix: step the
policy before the critics (or compute q_new_actions after their step). Drawn from microsoft/oac-explore#27.
"""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)


class PointEnv:
    def reset(self):
        self.x, self.t = rng.uniform(-1, 1), 0
        return np.array([self.x], dtype=np.float32)

    def step(self, a):
        self.x = float(np.clip(self.x + 0.3 * a, -2, 2))
        self.t += 1
        return np.array([self.x], dtype=np.float32), -self.x ** 2, self.t >= 10


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class TanhGaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp(obs_dim, 2 * act_dim)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, -1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 1).exp())
        z = normal.rsample()
        action = torch.tanh(z)
        log_pi = (normal.log_prob(z) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return action, log_pi


class QFunction(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp(obs_dim + act_dim, 1)

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1))


class SACTrainer:
    def __init__(self, policy, qf1, qf2, lr=1e-3, discount=0.95, tau=0.01):
        self.policy, self.qf1, self.qf2 = policy, qf1, qf2
        self.target_qf1, self.target_qf2 = copy.deepcopy(qf1), copy.deepcopy(qf2)
        self.discount, self.tau = discount, tau
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=lr)
        self.policy_optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.qf1_optimizer = torch.optim.Adam(qf1.parameters(), lr=lr)
        self.qf2_optimizer = torch.optim.Adam(qf2.parameters(), lr=lr)

    def train_from_batch(self, obs, actions, rewards, next_obs, terminals):
        new_obs_actions, log_pi = self.policy(obs)
        alpha_loss = -(self.log_alpha * (log_pi - 1.0).detach()).mean()
        self.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.alpha_optimizer.step()
        alpha = self.log_alpha.exp().detach()

        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))  # CULPRIT
        policy_loss = (alpha * log_pi - q_new_actions).mean()

        q1_pred, q2_pred = self.qf1(obs, actions), self.qf2(obs, actions)
        with torch.no_grad():
            next_actions, next_log_pi = self.policy(next_obs)
            target_q = torch.min(self.target_qf1(next_obs, next_actions), self.target_qf2(next_obs, next_actions))
            q_target = rewards + (1 - terminals) * self.discount * (target_q - alpha * next_log_pi)
        qf1_loss, qf2_loss = F.mse_loss(q1_pred, q_target), F.mse_loss(q2_pred, q_target)

        for optimizer, loss in self.update_order(policy_loss, qf1_loss, qf2_loss):
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()

        with torch.no_grad():
            for net, target in ((self.qf1, self.target_qf1), (self.qf2, self.target_qf2)):
                for p, tp in zip(net.parameters(), target.parameters()):
                    tp.lerp_(p, self.tau)
        return qf1_loss.item(), policy_loss.item()

    def update_order(self, policy_loss, qf1_loss, qf2_loss):
        critics = [(self.qf1_optimizer, qf1_loss), (self.qf2_optimizer, qf2_loss)]
        return critics + [(self.policy_optimizer, policy_loss)]  # CULPRIT


def main():
    env, buf = PointEnv(), []
    trainer = SACTrainer(TanhGaussianPolicy(1, 1), QFunction(1, 1), QFunction(1, 1))
    returns = []
    for episode in range(50):
        obs, done, ret = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                act = trainer.policy(torch.from_numpy(obs).unsqueeze(0))[0].item()
            act = act if episode >= 8 else rng.uniform(-1, 1)
            nxt, r, done = env.step(act)
            buf.append((obs, [act], [r], nxt, [0.0]))
            obs, ret = nxt, ret + r
            if episode >= 8:
                idx = rng.integers(0, len(buf), 64)
                batch = [torch.tensor(np.array(c), dtype=torch.float32) for c in zip(*[buf[i] for i in idx])]
                ql, pl = trainer.train_from_batch(*batch)
        returns.append(ret)
        if episode % 10 == 9:
            print(f"episode {episode + 1:3d} return {np.mean(returns[-10:]):7.3f} qf1 {ql:.4f} policy {pl:.4f}")


if __name__ == "__main__":
    main()
