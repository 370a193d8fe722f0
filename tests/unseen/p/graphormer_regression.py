"""Small Graphormer on packed batches of random molecules-like graphs: regress a pair interaction energy.

TRUTH: All the graphs of a batch are packed in one node list and attention between different graphs is meant
to be masked. The mask holds 1 inside a graph and -1e6 outside, and the scores are multiplied by it instead of
having it added: a negative score between two graphs times -1e6 is a huge positive number. The softmax then
puts its whole weight on a node of another graph, the second mask (zeros) wipes exactly that weight out, and the
attention row is all zeros. One negative score with any node of any other graph is enough: 8 of 10 rows are zero at
the start and, after a few steps, practically all of them; the query, key, value and spatial parameters then get a
gradient of exactly 0 and the loss stays at the variance of the target. Fix: replace the scores outside the graph by
-1e6 (torch.where / masked_fill) or add a mask that holds 0 and -1e6. Drawn from leffff/graphormer-pyg#14.
"""
import math

import torch
from torch import nn


class AttentionHead(nn.Module):
    def __init__(self, dim_in, dim_k, max_dist):
        super().__init__()
        self.q = nn.Linear(dim_in, dim_k)
        self.k = nn.Linear(dim_in, dim_k)
        self.v = nn.Linear(dim_in, dim_k)
        self.spatial = nn.Parameter(0.1 * torch.randn(max_dist + 1))

    def forward(self, x, dist, ptr):
        n = x.shape[0]
        mask_neg_inf = torch.full((n, n), -1e6)
        mask_zeros = torch.zeros(n, n)
        for i in range(len(ptr) - 1):
            mask_neg_inf[ptr[i]:ptr[i + 1], ptr[i]:ptr[i + 1]] = 1
            mask_zeros[ptr[i]:ptr[i + 1], ptr[i]:ptr[i + 1]] = 1

        query, key, value = self.q(x), self.k(x), self.v(x)
        a = query.mm(key.t()) / math.sqrt(query.size(-1))
        b = self.spatial[dist]
        a = (a + b) * mask_neg_inf  # CULPRIT
        weights = torch.softmax(a, dim=-1) * mask_zeros
        return weights.mm(value)


class MultiHead(nn.Module):
    def __init__(self, heads, dim, max_dist):
        super().__init__()
        self.heads = nn.ModuleList([AttentionHead(dim, dim // heads, max_dist) for _ in range(heads)])
        self.out = nn.Linear(dim, dim)

    def forward(self, x, dist, ptr):
        return self.out(torch.cat([h(x, dist, ptr) for h in self.heads], dim=-1))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads, max_dist):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = MultiHead(heads, dim, max_dist)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, dist, ptr):
        x = x + self.att(self.ln1(x), dist, ptr)
        return x + self.ff(self.ln2(x))


class Graphormer(nn.Module):
    def __init__(self, n_types=4, dim=32, heads=4, layers=2, max_dist=6):
        super().__init__()
        self.embed = nn.Embedding(n_types, dim)
        self.degree = nn.Embedding(16, dim)
        self.layers = nn.ModuleList([EncoderLayer(dim, heads, max_dist) for _ in range(layers)])
        self.readout = nn.Linear(dim, 1)

    def forward(self, batch):
        x = self.embed(batch["z"]) + self.degree(batch["deg"])
        for layer in self.layers:
            x = layer(x, batch["dist"], batch["ptr"])
        pooled = torch.zeros(len(batch["ptr"]) - 1, x.size(1)).index_add(0, batch["graph"], x)
        return self.readout(pooled / 8.0).squeeze(-1)


CHARGE = torch.tensor([1.0, -1.0, 0.5, -0.5])


def random_graph(max_dist=6):
    n = int(torch.randint(5, 11, (1,)))
    adj = torch.zeros(n, n, dtype=torch.bool)
    for i in range(1, n):
        j = int(torch.randint(0, i, (1,)))
        adj[i, j] = adj[j, i] = True
    dist = torch.full((n, n), max_dist)
    dist.fill_diagonal_(0)
    reach = torch.eye(n, dtype=torch.bool)
    for d in range(1, max_dist):
        nxt = (reach.float() @ adj.float()) > 0
        dist[nxt & (dist == max_dist)] = d
        reach = reach | nxt
    z = torch.randint(0, 4, (n,))
    q = CHARGE[z]
    pair = q.unsqueeze(0) * q.unsqueeze(1) / dist.clamp(min=1).float()
    y = (pair.sum() - (q * q).sum()) / 2
    return {"z": z, "deg": adj.sum(1), "dist": dist, "y": y}


def collate(graphs, max_dist=6):
    sizes = torch.tensor([len(g["z"]) for g in graphs])
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)]).tolist()
    dist = torch.full((ptr[-1], ptr[-1]), max_dist)
    for g, s, e in zip(graphs, ptr[:-1], ptr[1:]):
        dist[s:e, s:e] = g["dist"]
    return {
        "z": torch.cat([g["z"] for g in graphs]),
        "deg": torch.cat([g["deg"] for g in graphs]),
        "dist": dist,
        "ptr": ptr,
        "graph": torch.repeat_interleave(torch.arange(len(graphs)), sizes),
        "y": torch.stack([g["y"] for g in graphs]),
    }


if __name__ == "__main__":
    torch.manual_seed(7)
    data = [random_graph() for _ in range(480)]
    batches = [collate(data[i:i + 16]) for i in range(0, 400, 16)]
    val = [collate(data[i:i + 16]) for i in range(400, 480, 16)]
    var = torch.cat([b["y"] for b in batches]).var().item()
    print(f"target variance {var:.3f}")

    model = Graphormer()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for b in batches:
            loss = nn.functional.mse_loss(model(b), b["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            v = sum(nn.functional.mse_loss(model(b), b["y"]).item() for b in val) / len(val)
        print(f"epoch {epoch:2d}  train mse {total / len(batches):.4f}  val mse {v:.4f}")
