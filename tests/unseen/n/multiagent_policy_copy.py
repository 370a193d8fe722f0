"""WRONG. Copying the trained model for the opponent pool raises "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment".
TRUTH: forward stores the non-leaf activation self.inference_state with its graph on the module; keep a local variable and store only a detached copy for the statistics.
THREAD: https://github.com/skorch-dev/skorch/issues/833
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

state_size = 6
private_size = 4
hidden_size = 8


class Policy(nn.Module):
    """
    implements both actor and critic in one model
    """

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(hidden_size * 2, 32)
        self.muHead = nn.Linear(32, 1)
        self.varHead = nn.Linear(32, 1)
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        mu = torch.sigmoid(self.muHead(x))
        sigma = F.softplus(self.varHead(x)) + 1e-3
        state_values = self.value_head(x)
        return mu, sigma, state_values


class Model(nn.Module):
    def __init__(self, ann_private, rnn_public, policy):
        super().__init__()
        self.ann_private = ann_private
        self.rnn_public = rnn_public
        self.policy = policy

    def forward(self, private_input, state):
        private_input = self.ann_private(private_input)
        _, processed_state = self.rnn_public(state)
        self.inference_state = torch.cat([processed_state[-1], private_input], dim=-1)  # CULPRIT
        mu, sigma, state_values = self.policy(self.inference_state)
        return mu, sigma, state_values


def build_model():
    ann = nn.Sequential(nn.Linear(private_size, hidden_size), nn.Tanh())
    rnn = nn.GRU(state_size, hidden_size, batch_first=True)
    return Model(ann, rnn, Policy())


class Auction:
    """one-shot bidding: the bid should meet the mean of the private signal"""

    def sample(self, n=64):
        return torch.rand(n, private_size), torch.randn(n, 5, state_size)

    def payoff(self, private, bids, rival_bids):
        value = private.mean(dim=1, keepdim=True)
        win = (bids > rival_bids - 0.2).float()
        return -(bids - value).pow(2) + 0.1 * win


class Trainer:
    def __init__(self):
        self.model = build_model()
        self.opponents = [build_model().eval()]
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)
        self.env = Auction()

    def opponent_bids(self, private, state):
        with torch.no_grad():
            rival = self.opponents[-1]
            mu, sigma, _ = rival(private, state)
            return torch.normal(mu, sigma)

    def update(self):
        private, state = self.env.sample()
        mu, sigma, values = self.model(private, state)
        dist = torch.distributions.Normal(mu, sigma)
        bids = dist.sample()
        reward = self.env.payoff(private, bids, self.opponent_bids(private, state))
        advantage = reward - values.detach()
        policy_loss = -(dist.log_prob(bids) * advantage).mean()
        value_loss = F.mse_loss(values, reward)
        loss = policy_loss + 0.5 * value_loss - 0.001 * dist.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item(), self.model.inference_state.abs().mean().item()

    def freeze_into_pool(self):
        snapshot = copy.deepcopy(self.model)
        for p in snapshot.parameters():
            p.requires_grad_(False)
        self.opponents.append(snapshot.eval())


def main():
    trainer = Trainer()
    for generation in range(3):
        for _ in range(15):
            reward, activity = trainer.update()
        trainer.freeze_into_pool()
        print(f"generation {generation} reward {reward:.3f} activity {activity:.3f} pool {len(trainer.opponents)}")


if __name__ == "__main__":
    main()
