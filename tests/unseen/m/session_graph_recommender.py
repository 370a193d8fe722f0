"""WRONG. Training a user-item session graph network stops in the first backward():
"one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: the user rows of hidden (output of tanh, which backward needs) are overwritten by slice assignment; build a new tensor with
torch.cat([hidden[:n_items], hidden[n_items:] + pref]).
THREAD: https://github.com/0215Arthur/HG-GNN/issues/11
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def build_graph(num_items, num_users, sessions, owners):
    n = num_items + num_users
    adj = torch.zeros(n, n)
    for seq, user in zip(sessions, owners):
        for a, b in zip(seq[:-1], seq[1:]):
            adj[b, a] += 1.0
        for item in seq:
            adj[item, num_items + user] += 1.0
            adj[num_items + user, item] += 1.0
    deg = adj.sum(1, keepdim=True).clamp(min=1.0)
    return adj / deg


class HeteroGraphLayer(nn.Module):
    def __init__(self, dim, num_items):
        super().__init__()
        self.num_items = num_items
        self.w_self = nn.Linear(dim, dim)
        self.w_neigh = nn.Linear(dim, dim, bias=False)
        self.w_pref = nn.Linear(dim, dim, bias=False)

    def forward(self, h, adj):
        n = self.num_items
        hidden = torch.tanh(self.w_self(h) + self.w_neigh(adj @ h))
        pref = self.w_pref(adj[n:, :n] @ h[:n])
        hidden[n:] = hidden[n:] + pref  # CULPRIT
        return hidden


class HGRec(nn.Module):
    def __init__(self, num_items, num_users, dim=24, n_layers=2, dropout=0.1):
        super().__init__()
        self.num_items = num_items
        self.emb = nn.Embedding(num_items + num_users, dim)
        self.pos = nn.Embedding(16, dim)
        self.layers = nn.ModuleList(HeteroGraphLayer(dim, num_items) for _ in range(n_layers))
        self.drop = nn.Dropout(dropout)
        self.att = nn.Linear(2 * dim, 1)
        self.gate = nn.Linear(2 * dim, dim)

    def encode(self, adj):
        h = self.emb.weight
        outs = [h]
        for layer in self.layers:
            h = self.drop(layer(h, adj))
            outs.append(h)
        return torch.stack(outs).mean(0)

    def forward(self, adj, seqs, users):
        h = self.encode(adj)
        items = h[seqs] + self.pos.weight[:seqs.size(1)]
        last = items[:, -1:, :].expand_as(items)
        alpha = torch.softmax(self.att(torch.cat([items, last], -1)), dim=1)
        session = (alpha * items).sum(1)
        user = h[self.num_items + users]
        g = torch.sigmoid(self.gate(torch.cat([session, user], -1)))
        rep = g * session + (1 - g) * user
        return rep @ h[:self.num_items].t()


def make_sessions(num_items, num_users, count, length):
    owners = torch.arange(count) % num_users
    step = 1 + owners % 3
    start = torch.randint(0, num_items, (count,))
    seqs = (start[:, None] + step[:, None] * torch.arange(length + 1)) % num_items
    return seqs[:, :-1], seqs[:, -1], owners


@torch.no_grad()
def evaluate(model, adj, seqs, targets, users, k=5):
    model.eval()
    rank = model(adj, seqs, users).topk(k, dim=1).indices
    model.train()
    hit = (rank == targets[:, None])
    mrr = (hit.float() / torch.arange(1, k + 1)).sum(1).mean().item()
    return hit.any(1).float().mean().item(), mrr


def main():
    torch.manual_seed(0)
    num_items, num_users = 40, 15
    seqs, targets, users = make_sessions(num_items, num_users, 300, 5)
    train, valid = slice(0, 240), slice(240, 300)
    adj = build_graph(num_items, num_users, seqs[train].tolist(), users[train].tolist())
    model = HGRec(num_items, num_users)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    for epoch in range(8):
        perm = torch.randperm(240)
        losses = []
        for idx in perm.split(48):
            scores = model(adj, seqs[train][idx], users[train][idx])
            loss = F.cross_entropy(scores, targets[train][idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        recall, mrr = evaluate(model, adj, seqs[valid], targets[valid], users[valid])
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f} Recall@5 {recall:.3f} MRR@5 {mrr:.3f}")


if __name__ == "__main__":
    main()
