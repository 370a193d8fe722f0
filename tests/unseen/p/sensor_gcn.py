"""GCN encoder over a fixed sensor network: predict the next heat field from noisy readings, batched.

TRUTH: The encoder flattens a batch of fields (batch, nodes, dim) to (batch * nodes, dim) and then runs the
graph convolutions with the edge_index of one graph, whose node numbers are 0..n-1. Only the first field of a
batch exchanges messages; the nodes of all the others see nothing but their self-loop, so for them the network
is a per-node MLP. No exception: all indices are in range. The training loss stalls at what one sensor alone can
predict, the gradient that reaches a node's neighbours is zero for every graph but the first, and the validation
(one field at a time) is scored by a network that was hardly ever trained with neighbours. Fix: repeat edge_index
per graph with the offset i * n. Drawn from ai4co/rl4co#227.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def knn_edges(pos, k):
    d = torch.cdist(pos, pos)
    d.fill_diagonal_(float("inf"))
    nbr = d.topk(k, largest=False).indices
    src = nbr.reshape(-1)
    dst = torch.arange(len(pos)).repeat_interleave(k)
    both = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    return torch.unique(both, dim=1)


class GCNConv(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.lin = nn.Linear(dim_in, dim_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(dim_out))

    def forward(self, x, edge_index):
        n = x.size(0)
        loops = torch.arange(n)
        src = torch.cat([edge_index[0], loops])
        dst = torch.cat([edge_index[1], loops])
        deg = torch.zeros(n).index_add(0, dst, torch.ones(len(dst)))
        norm = deg[src].rsqrt() * deg[dst].rsqrt()
        h = self.lin(x)
        out = torch.zeros_like(h).index_add(0, dst, h[src] * norm.unsqueeze(1))
        return out + self.bias


class FieldEncoder(nn.Module):
    def __init__(self, edge_index, dim=48, layers=3):
        super().__init__()
        self.register_buffer("edge_index", edge_index)
        self.init_embedding = nn.Linear(3, dim)
        self.convs = nn.ModuleList([GCNConv(dim, dim) for _ in range(layers)])

    def forward(self, feats):
        h = self.init_embedding(feats)
        bs, num_nodes, dim = h.shape
        h = h.reshape(-1, dim)
        edge_index = self.edge_index  # CULPRIT
        for conv in self.convs:
            h = h + F.relu(conv(h, edge_index))
        return h.reshape(bs, num_nodes, dim)


class Forecaster(nn.Module):
    def __init__(self, edge_index):
        super().__init__()
        self.encoder = FieldEncoder(edge_index)
        self.head = nn.Linear(48, 1)

    def forward(self, feats):
        return feats[..., 0] + self.head(self.encoder(feats)).squeeze(-1)


def simulate(pos, edge_index, count, gen):
    n = len(pos)
    lap = torch.zeros(n, n)
    lap[edge_index[1], edge_index[0]] = 1.0
    lap = torch.diag(lap.sum(1)) - lap
    step = torch.linalg.matrix_exp(-0.25 * lap)
    field = torch.randn(count, n, generator=gen)
    target = field @ step.t()
    reading = field + 0.05 * torch.randn(count, n, generator=gen)
    feats = torch.cat([reading.unsqueeze(-1), pos.expand(count, n, 2)], dim=-1)
    return feats, target


def evaluate(model, feats, target):
    model.eval()
    with torch.no_grad():
        pred = torch.cat([model(f.unsqueeze(0)) for f in feats])
    return F.mse_loss(pred, target).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=30)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()

    torch.manual_seed(3)
    gen = torch.Generator().manual_seed(4)
    pos = torch.rand(args.nodes, 2)
    edge_index = knn_edges(pos, 3)
    feats, target = simulate(pos, edge_index, 640, gen)
    vf, vt = simulate(pos, edge_index, 64, gen)

    model = Forecaster(edge_index)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        order = torch.randperm(len(feats), generator=gen)
        running = 0.0
        for i in range(0, len(order), args.batch):
            idx = order[i:i + args.batch]
            loss = F.mse_loss(model(feats[idx]), target[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * len(idx)
        print(f"epoch {epoch:2d}  train {running / len(feats):.4f}  val {evaluate(model, vf, vt):.4f}")


if __name__ == "__main__":
    main()
