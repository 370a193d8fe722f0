"""jingw2/neural-combinatorial-optimization-rl#1
Symptom: the critic's estimate of the tour length stays far below the tours (even negative) and its loss does not go down.
EXPECT: runs
TRUTH: the advantage keeps the gradient of the baseline b, so the actor loss also trains the critic; use b.view(-1).detach().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class PointerActor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Linear(2, hidden)
        self.context = nn.Sequential(nn.Linear(hidden * 3, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.key = nn.Linear(hidden, hidden)

    def forward(self, cities):
        batch, n, _ = cities.shape
        emb = self.embed(cities)
        keys = self.key(emb)
        graph = emb.mean(1)
        visited = torch.zeros(batch, n, dtype=torch.bool)
        visited[:, 0] = True
        first = last = emb[:, 0]
        tour, log_probs = [torch.zeros(batch, dtype=torch.long)], []
        for _ in range(n - 1):
            query = self.context(torch.cat([graph, first, last], 1))
            scores = 5.0 * torch.tanh((keys * query.unsqueeze(1)).sum(2) / keys.size(2) ** 0.5)
            dist = torch.distributions.Categorical(logits=scores.masked_fill(visited, -1e9))
            choice = dist.sample()
            log_probs.append(dist.log_prob(choice))
            visited = visited.scatter(1, choice.unsqueeze(1), True)
            last = emb[torch.arange(batch), choice]
            tour.append(choice)
        return torch.stack(tour, 1), torch.stack(log_probs, 1).sum(1)


class Critic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.rho = nn.Sequential(nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, cities):
        return self.rho(self.phi(cities).mean(1))


def tour_length(cities, tour):
    ordered = torch.gather(cities, 1, tour.unsqueeze(2).expand(-1, -1, 2))
    return (ordered - ordered.roll(-1, dims=1)).norm(dim=2).sum(1)


def train(steps=300, batch_size=64, n_cities=8):
    actor, critic = PointerActor(), Critic()
    params = list(actor.parameters()) + list(critic.parameters())
    optimizer = torch.optim.Adam(params, lr=2e-3)
    log = []
    for step in range(1, steps + 1):
        cities = torch.rand(batch_size, n_cities, 2)
        tour, log_prob = actor(cities)
        L = tour_length(cities, tour)
        b = critic(cities)
        advantage = L - b.view(-1)  # CULPRIT
        actor_loss = (advantage * log_prob).mean()
        critic_loss = F.mse_loss(b.view(-1), L.detach())
        loss = actor_loss + critic_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 2.0)
        optimizer.step()
        log.append((L.mean().item(), b.mean().item(), critic_loss.item()))
        if step % 60 == 0:
            mean = torch.tensor(log[-60:]).mean(0).tolist()
            print("step %4d  tour %.3f  baseline %.3f  critic loss %.3f" % (step, *mean))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train()
