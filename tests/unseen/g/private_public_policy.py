"""WRONG. copy.deepcopy(model) fails: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol.
TRUTH: forward keeps its intermediate inference_state, a non-leaf tensor with a graph, as an attribute of the module, which deepcopy then has to copy; use a local variable (or store it detached).
THREAD: https://github.com/skorch-dev/skorch/issues/833
"""
import copy
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal

STATE, PRIVATE = 6, 6


class Policy(nn.Module):
    """ actor and critic in one model """

    def __init__(self, n_in):
        super(Policy, self).__init__()
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, 32)
        self.mu_head = nn.Linear(32, 1)
        self.var_head = nn.Sequential(nn.Linear(32, 1), nn.Softplus())
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.mu_head(x), self.var_head(x) + 1e-2, self.value_head(x)


class RnnPublic(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, batch_first=True)

    def forward(self, seq):
        _, h = self.gru(seq)
        return h[-1]


class Model(nn.Module):
    def __init__(self, ann_private, rnn_public, policy):
        super(Model, self).__init__()
        self.ann_private = ann_private
        self.rnn_public = rnn_public
        self.policy = policy

    def forward(self, private_input, state):
        private_input = self.ann_private(private_input)
        processed_state = self.rnn_public(state)
        self.inference_state = torch.cat([processed_state, private_input], dim=-1)  # CULPRIT
        mu, sigma, state_values = self.policy(self.inference_state)
        return mu, sigma, state_values


def build():
    ann = nn.Sequential(nn.Linear(PRIVATE, STATE), nn.Tanh())
    return Model(ann, RnnPublic(STATE, STATE), Policy(2 * STATE))


class BiddingGame:
    """One bid per round; the best bid is hidden in the private signal and the public history."""

    def __init__(self, rng):
        self.rng = rng

    def batch(self, n, length=5):
        private = self.rng.normal(size=(n, PRIVATE)).astype(np.float32)
        public = self.rng.normal(size=(n, length, STATE)).astype(np.float32)
        best = 0.5 * private[:, :1] + 0.3 * public[:, -1, :1]
        return torch.from_numpy(private), torch.from_numpy(public), torch.from_numpy(best)

    @staticmethod
    def reward(bid, best):
        return -(bid - best).pow(2)


class PPO:
    def __init__(self, lr=3e-3, clip=0.2, epochs=4):
        self.model = build()
        self.model_old = copy.deepcopy(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.clip, self.epochs = clip, epochs

    @torch.no_grad()
    def act(self, private, public):
        mu, sigma, _ = self.model_old(private, public)
        dist = Normal(mu, sigma)
        a = dist.sample()
        return a, dist.log_prob(a)

    def update(self, private, public, action, logp_old, reward):
        for _ in range(self.epochs):
            mu, sigma, value = self.model(private, public)
            dist = Normal(mu, sigma)
            ratio = (dist.log_prob(action) - logp_old).exp()
            adv = reward - value.detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            surr = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv)
            loss = -surr.mean() + 0.5 * (value - reward).pow(2).mean() - 0.01 * dist.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        self.model_old = copy.deepcopy(self.model)
        return loss.item()


def main():
    torch.manual_seed(0)
    game = BiddingGame(np.random.default_rng(0))
    agent = PPO()
    for it in range(40):
        private, public, best = game.batch(128)
        action, logp = agent.act(private, public)
        reward = game.reward(action, best)
        loss = agent.update(private, public, action, logp, reward)
        if it % 10 == 0:
            print('iter %d reward %.3f loss %.3f' % (it, reward.mean().item(), loss))


main()
