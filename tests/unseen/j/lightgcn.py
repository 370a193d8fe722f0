# kind: backward_twice
"""LightGCN-like recommender with BPR loss on a random interaction graph."""
import torch
from torch import nn
import torch.nn.functional as F


def interactions(users, items, per_user, seed=0):
    """Users of one of four tastes pick items of that taste."""
    gen = torch.Generator().manual_seed(seed)
    taste_u = torch.randint(0, 4, (users,), generator=gen)
    taste_i = torch.arange(items) % 4
    pairs = []
    for u in range(users):
        pool = (taste_i == taste_u[u]).nonzero().flatten()
        pick = pool[torch.randperm(len(pool), generator=gen)[:per_user]]
        pairs += [(u, int(i)) for i in pick]
    return torch.tensor(pairs), taste_u, taste_i


def normalized_adjacency(pairs, users, items):
    n = users + items
    adj = torch.zeros(n, n)
    adj[pairs[:, 0], users + pairs[:, 1]] = 1.0
    adj = adj + adj.t()
    deg = adj.sum(1).clamp(min=1).pow(-0.5)
    return deg.view(-1, 1) * adj * deg.view(1, -1)


class LightGCN(nn.Module):
    def __init__(self, users, items, adj, dim=16, layers=2):
        super().__init__()
        self.users = users
        self.table = nn.Embedding(users + items, dim)
        nn.init.normal_(self.table.weight, std=0.1)
        self.register_buffer("adj", adj)
        self.layers = layers

    def propagate(self):
        x = self.table.weight
        outs = [x]
        for _ in range(self.layers):
            x = self.adj @ x
            outs.append(x)
        mean = torch.stack(outs).mean(0)
        return mean[: self.users], mean[self.users:]


def bpr(u, pos, neg):
    return -F.logsigmoid((u * pos).sum(1) - (u * neg).sum(1)).mean()


class Trainer:
    def __init__(self, model, pairs, items, lr=0.02, batch=128):
        self.model, self.pairs, self.items, self.batch = model, pairs, items, batch
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self):
        order = torch.randperm(len(self.pairs))
        running, batches = 0.0, order.split(self.batch)
        users, items = self.model.propagate()  # CULPRIT
        for idx in batches:
            u, pos = self.pairs[idx].unbind(1)
            neg = torch.randint(0, self.items, pos.shape)
            loss = bpr(users[u], items[pos], items[neg])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            running += loss.item()
        return running / len(batches)


def main():
    torch.manual_seed(0)
    n_users, n_items = 80, 60
    pairs, taste_u, taste_i = interactions(n_users, n_items, per_user=8)
    model = LightGCN(n_users, n_items, normalized_adjacency(pairs, n_users, n_items))
    trainer = Trainer(model, pairs, n_items)
    for epoch in range(8):
        loss = trainer.epoch()
        with torch.no_grad():
            u, i = model.propagate()
            top = (u @ i.t()).topk(10, dim=1).indices
            hit = (taste_i[top] == taste_u.view(-1, 1)).float().mean().item()
        print(f"epoch {epoch} bpr {loss:.4f} taste hit rate {hit:.3f}")


if __name__ == "__main__":
    main()
