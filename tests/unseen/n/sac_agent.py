"""WRONG. The SAC example ran on an old PyTorch; now optimize_model stops with "one of the variables needed for gradient computation has been modified by an inplace operation: [FloatTensor [32, 1]] is at version 2".
TRUTH: policy_loss is built through the online Q networks (current_q_sa) before their optimizers step, and only backpropagated after the steps changed the weights in place. Do the policy backward before the value steps (or evaluate the Q networks for the policy after them).
THREAD: https://github.com/mimoralea/gdrl/issues/13
"""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class FCQSA(nn.Module):
    def __init__(self, input_dim, output_dim, hidden_dims=(32, 32)):
        super().__init__()
        self.input_layer = nn.Linear(input_dim + output_dim, hidden_dims[0])
        self.hidden_layer = nn.Linear(hidden_dims[0], hidden_dims[1])
        self.output_layer = nn.Linear(hidden_dims[1], 1)

    def forward(self, state, action):
        x = torch.cat((state, action), dim=1)
        x = F.relu(self.input_layer(x))
        x = F.relu(self.hidden_layer(x))
        return self.output_layer(x)


class FCGP(nn.Module):
    def __init__(self, input_dim, action_dim, hidden=32, entropy_lr=1e-3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(input_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.output_layer_mean = nn.Linear(hidden, action_dim)
        self.output_layer_log_std = nn.Linear(hidden, action_dim)
        self.target_entropy = -float(action_dim)
        self.logalpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = torch.optim.Adam([self.logalpha], lr=entropy_lr)

    def forward(self, state):
        x = self.body(state)
        return self.output_layer_mean(x), self.output_layer_log_std(x).clamp(-5, 2)

    def full_pass(self, state, epsilon=1e-6):
        mean, log_std = self.forward(state)
        pi_s = torch.distributions.Normal(mean, log_std.exp())
        pre_tanh_action = pi_s.rsample()
        action = torch.tanh(pre_tanh_action)
        log_prob = pi_s.log_prob(pre_tanh_action) - torch.log(1 - action.pow(2) + epsilon)
        return action, log_prob.sum(dim=1, keepdim=True), torch.tanh(mean)


class PointEnv:
    def reset(self):
        self.s = torch.randn(3) * 0.5
        self.t = 0
        return self.s.clone()

    def step(self, a):
        self.s = self.s + 0.2 * a
        self.t += 1
        reward = -self.s.pow(2).sum().item()
        return self.s.clone(), reward, self.t >= 20


class SAC:
    def __init__(self, gamma=0.97, tau=0.01, batch_size=32):
        self.policy_model = FCGP(3, 3)
        self.online_value_model_a, self.online_value_model_b = FCQSA(3, 3), FCQSA(3, 3)
        self.target_value_model_a, self.target_value_model_b = FCQSA(3, 3), FCQSA(3, 3)
        self.update_value_networks(tau=1.0)
        self.policy_optimizer = torch.optim.Adam(self.policy_model.parameters(), lr=3e-3)
        self.value_optimizer_a = torch.optim.Adam(self.online_value_model_a.parameters(), lr=3e-3)
        self.value_optimizer_b = torch.optim.Adam(self.online_value_model_b.parameters(), lr=3e-3)
        self.gamma, self.tau, self.batch_size = gamma, tau, batch_size
        self.memory = deque(maxlen=2000)

    @torch.no_grad()
    def update_value_networks(self, tau=None):
        tau = self.tau if tau is None else tau
        pairs = ((self.target_value_model_a, self.online_value_model_a),
                 (self.target_value_model_b, self.online_value_model_b))
        for target_net, online_net in pairs:
            for target, online in zip(target_net.parameters(), online_net.parameters()):
                target.lerp_(online, tau)

    def sample(self):
        batch = random.sample(self.memory, self.batch_size)
        s, a, r, ns, d = zip(*batch)
        return (torch.stack(s), torch.stack(a), torch.tensor(r).unsqueeze(1), torch.stack(ns),
                torch.tensor(d, dtype=torch.float32).unsqueeze(1))

    def optimize_model(self, experiences):
        states, actions, rewards, next_states, is_terminals = experiences

        # policy loss
        current_actions, logpi_s, _ = self.policy_model.full_pass(states)
        target_alpha = (logpi_s + self.policy_model.target_entropy).detach()
        alpha_loss = -(self.policy_model.logalpha * target_alpha).mean()
        self.policy_model.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.policy_model.alpha_optimizer.step()
        alpha = self.policy_model.logalpha.exp().detach()

        current_q_sa = torch.min(self.online_value_model_a(states, current_actions), self.online_value_model_b(states, current_actions))  # CULPRIT
        policy_loss = (alpha * logpi_s - current_q_sa).mean()

        # Q loss
        with torch.no_grad():
            ap, logpi_sp, _ = self.policy_model.full_pass(next_states)
            q_spap = torch.min(self.target_value_model_a(next_states, ap), self.target_value_model_b(next_states, ap))
            target_q_sa = rewards + self.gamma * (q_spap - alpha * logpi_sp) * (1 - is_terminals)

        qa_loss = (self.online_value_model_a(states, actions) - target_q_sa).pow(2).mul(0.5).mean()
        qb_loss = (self.online_value_model_b(states, actions) - target_q_sa).pow(2).mul(0.5).mean()

        self.value_optimizer_a.zero_grad()
        qa_loss.backward()
        nn.utils.clip_grad_norm_(self.online_value_model_a.parameters(), 10.0)
        self.value_optimizer_a.step()

        self.value_optimizer_b.zero_grad()
        qb_loss.backward()
        nn.utils.clip_grad_norm_(self.online_value_model_b.parameters(), 10.0)
        self.value_optimizer_b.step()

        self.policy_optimizer.zero_grad()
        policy_loss.backward()  # CULPRIT
        nn.utils.clip_grad_norm_(self.policy_model.parameters(), 10.0)
        self.policy_optimizer.step()
        return qa_loss.item(), policy_loss.item()

    def train(self, episodes=4):
        env, stats = PointEnv(), (0.0, 0.0)
        for ep in range(episodes):
            s, done, ret = env.reset(), False, 0.0
            while not done:
                with torch.no_grad():
                    a = self.policy_model.full_pass(s.unsqueeze(0))[0].squeeze(0)
                ns, r, done = env.step(a)
                self.memory.append((s, a, r, ns, False))
                s, ret = ns, ret + r
                if len(self.memory) >= self.batch_size:
                    stats = self.optimize_model(self.sample())
                    self.update_value_networks()
            print(f"ep {ep} return {ret:.2f} q_loss {stats[0]:.3f} policy_loss {stats[1]:.3f}")


if __name__ == "__main__":
    SAC().train()
