"""What the user sees: training is unstable: the critic prediction stays far below the real tour length, the total loss
is strongly negative and the tours get better only slowly; I can't reproduce the results of the official repo.

TRUTH: the advantage in the policy loss uses the critic's prediction without detach, so the policy loss also sends a
gradient through the critic (one optimizer for the summed loss). Fix: (reward - predictions.detach()) in the policy loss.
THREAD: https://github.com/astariul/encode-attend-navigate-pytorch/issues/2 "Critic not detached from policy loss"
"""
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Linear(2, d)
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        h = self.emb(x)
        a, _ = self.attn(h, h, h, need_weights=False)
        return self.norm(h + a)


class Actor(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder = Encoder(d)
        self.q = nn.Linear(2 * d, d)
        self.k = nn.Linear(d, d)

    def forward(self, cities):
        enc = self.encoder(cities)
        keys = self.k(enc)
        B, N, d = enc.shape
        idx = torch.arange(B)
        cur = torch.zeros(B, dtype=torch.long)
        first = enc[:, 0]
        mask = torch.zeros(B, N, dtype=torch.bool)
        mask[:, 0] = True
        tour, log_prob = [cur], 0.
        for _ in range(N - 1):
            q = self.q(torch.cat([enc[idx, cur], first], 1))
            logits = 5 * torch.tanh((keys @ q.unsqueeze(2)).squeeze(2) / d ** 0.5)
            dist = torch.distributions.Categorical(logits=logits.masked_fill(mask, -1e9))
            cur = dist.sample()
            log_prob = log_prob + dist.log_prob(cur)
            mask = mask.clone()
            mask[idx, cur] = True
            tour.append(cur)
        return torch.stack(tour, 1), log_prob


class Critic(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder = Encoder(d)
        self.out = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, cities):
        return self.out(self.encoder(cities).mean(1)).squeeze(1)


def tour_length(cities, tour):
    pts = torch.gather(cities, 1, tour.unsqueeze(2).expand(-1, -1, 2))
    return (pts - pts.roll(-1, dims=1)).norm(dim=2).sum(1)


def compute_loss(cities, actor, critic):
    tour, log_prob = actor(cities)
    reward = tour_length(cities, tour)
    predictions = critic(cities)
    policy_loss = torch.mean((reward - predictions) * log_prob)  # CULPRIT
    critic_loss = torch.mean((reward - predictions) ** 2)
    return policy_loss + critic_loss, reward.mean().item(), predictions.mean().item()


def main():
    torch.manual_seed(0)
    actor, critic = Actor(), Critic()
    optimizer = torch.optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=1e-3)
    for step in range(301):
        loss, length, pred = compute_loss(torch.rand(64, 8, 2), actor, critic)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f'step {step:4d} loss {loss.item():9.3f} tour length {length:.3f} critic prediction {pred:.3f}')


if __name__ == '__main__':
    main()
