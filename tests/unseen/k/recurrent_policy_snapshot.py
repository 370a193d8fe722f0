"""WRONG. I keep the best agent with copy.deepcopy(model). The copy made before training works, the first one made after an update raises "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment".
TRUTH: forward stores the activation inference_state, a tensor with a grad_fn, as attribute of the module, and deepcopy meets it there; use a local variable in forward (and store at most its detached value).
THREAD: https://github.com/skorch-dev/skorch/issues/833
"""
import copy

import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)

state_size = 12
private_size = 4
public_size = 6


class AnnPrivate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(private_size, 16), nn.ReLU(), nn.Linear(16, state_size))

    def forward(self, x):
        return self.fc(x)


class RnnPublic(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(public_size, state_size, batch_first=True)

    def forward(self, history):
        _, h = self.gru(history)
        return h[-1]


class Policy(nn.Module):
    """
    implements both actor and critic in one model
    """

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(state_size * 2, 32)
        self.action_head = nn.Linear(32, 1)
        self.var_head = nn.Sequential(nn.Linear(32, 1), nn.Softplus())
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.sigmoid(self.action_head(x)), self.var_head(x) + 1e-3, self.value_head(x)


class Model(nn.Module):
    def __init__(self, ann_private, rnn_public, policy):
        super().__init__()
        self.ann_private = ann_private
        self.rnn_public = rnn_public
        self.policy = policy

    def forward(self, private_input, state):
        private_input = self.ann_private(private_input)
        processed_state = self.rnn_public(state)
        self.inference_state = torch.cat([processed_state, private_input], dim=-1)  # CULPRIT
        mu, sigma, state_values = self.policy(self.inference_state)
        return mu, sigma, state_values


class BiddingGame:
    """One round: bid near the (hidden) worth of the item, which history and private signal hint at."""

    def __init__(self):
        self.w_private = torch.randn(private_size, 1)
        self.w_public = torch.randn(public_size, 1)

    def deal(self, n):
        private = torch.randn(n, private_size)
        history = torch.randn(n, 5, public_size)
        worth = torch.sigmoid(private @ self.w_private + history[:, -1] @ self.w_public)
        return private, history, worth

    @staticmethod
    def reward(bid, worth):
        return 1.0 - (bid - worth).abs()


def update(model, optimizer, game, n=64):
    private, history, worth = game.deal(n)
    mu, sigma, values = model(private, history)
    dist = Normal(mu, sigma)
    bids = dist.sample()
    rewards = game.reward(bids, worth)
    advantage = rewards - values.detach()
    actor_loss = -(dist.log_prob(bids) * advantage).mean()
    critic_loss = nn.functional.smooth_l1_loss(values, rewards)
    loss = actor_loss + 0.5 * critic_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    return loss.item()


def evaluate(model, game, n=256):
    model.eval()
    with torch.no_grad():
        private, history, worth = game.deal(n)
        mu, _, _ = model(private, history)
        score = game.reward(mu, worth).mean().item()
    model.train()
    return score


def main():
    game = BiddingGame()
    model = Model(AnnPrivate(), RnnPublic(), Policy())
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    best_model, best_score = copy.deepcopy(model), float("-inf")
    for epoch in range(6):
        score = evaluate(model, game)
        losses = [update(model, optimizer, game) for _ in range(10)]
        print(f"epoch {epoch}  score before {score:.3f}  mean loss {sum(losses) / len(losses):.3f}")
        if epoch % 2 == 1 and score > best_score:
            best_model, best_score = copy.deepcopy(model), score
    print(f"best kept {best_score:.3f}, kept model scores now {evaluate(best_model, game):.3f}")


if __name__ == "__main__":
    main()
