"""WRONG. Trajectory balance was not training well, the loss goes down a little and then stays.
TRUTH: get_logprobs() clones the policy outputs with a detach, so no gradient reaches the policy network and only logZ learns; drop the detach.
THREAD: https://github.com/alexhernandezgarcia/gflownet/pull/251
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Grid:
    """2-d hypergrid; actions: +1 in dim 0, +1 in dim 1, stop"""

    def __init__(self, length=6):
        self.length = length
        self.n_dim = 2
        self.action_dim = 3

    def states2policy(self, states):
        onehot = nn.functional.one_hot(states, self.length).float()
        return onehot.flatten(1)

    def get_mask_invalid(self, states):
        mask = torch.zeros(len(states), self.action_dim, dtype=torch.bool)
        mask[:, :2] = states >= self.length - 1
        return mask

    def reward(self, states):
        x = (states.float() / (self.length - 1) - 0.5).abs()
        return 1e-2 + 0.5 * (x > 0.25).all(1).float() + 2 * ((x > 0.25) & (x < 0.4)).all(1).float()

    def get_logprobs(self, policy_outputs, actions, mask):
        logits = policy_outputs.clone().detach()  # CULPRIT
        logits[mask] = -float('inf')
        return Categorical(logits=logits).log_prob(actions)


class GFlowNetAgent:
    def __init__(self, env, hidden=64):
        self.env = env
        n_in = env.length * env.n_dim
        self.forward_policy = nn.Sequential(
            nn.Linear(n_in, hidden), nn.LeakyReLU(),
            nn.Linear(hidden, hidden), nn.LeakyReLU(),
            nn.Linear(hidden, env.action_dim))
        self.logZ = nn.Parameter(torch.ones(16) * 0.1)
        self.opt = torch.optim.Adam([
            {'params': self.forward_policy.parameters(), 'lr': 3e-3},
            {'params': [self.logZ], 'lr': 3e-2},
        ])

    def sample_batch(self, n, eps=0.1):
        env = self.env
        states = torch.zeros(n, env.n_dim, dtype=torch.long)
        done = torch.zeros(n, dtype=torch.bool)
        logprobs_f = torch.zeros(n)
        logprobs_b = torch.zeros(n)
        for _ in range(env.n_dim * (env.length - 1) + 1):
            policy_outputs = self.forward_policy(env.states2policy(states))
            mask = env.get_mask_invalid(states)
            with torch.no_grad():
                probs = torch.softmax(policy_outputs.masked_fill(mask, -1e9), 1)
                uniform = (~mask).float() / (~mask).sum(1, keepdim=True)
                actions = Categorical(probs=(1 - eps) * probs + eps * uniform).sample()
            lp = env.get_logprobs(policy_outputs, actions, mask)
            logprobs_f = logprobs_f + torch.where(done, torch.zeros_like(lp), lp)
            stop = actions == 2
            move = (~done) & (~stop)
            step = nn.functional.one_hot(actions.clamp(max=1), 2) * move.unsqueeze(1)
            states = states + step
            # uniform backward policy over the parents
            parents = (states > 0).sum(1).clamp(min=1).float()
            logprobs_b = logprobs_b - torch.where(move, parents.log(), torch.zeros(n))
            done = done | stop
        return states, logprobs_f, logprobs_b

    def trajectorybalance_loss(self, batch):
        states, logprobs_f, logprobs_b = batch
        rewards = self.env.reward(states)
        return (self.logZ.sum() + logprobs_f - logprobs_b - torch.log(rewards)).pow(2).mean()

    def train(self, n_train_steps=400, batch_size=64):
        running = 0.0
        for it in range(1, n_train_steps + 1):
            loss = self.trajectorybalance_loss(self.sample_batch(batch_size))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            running += loss.item()
            if it % 100 == 0:
                print('iter %d loss %.4f logZ %.3f' % (it, running / 100, self.logZ.sum().item()))
                running = 0.0


GFlowNetAgent(Grid()).train()
