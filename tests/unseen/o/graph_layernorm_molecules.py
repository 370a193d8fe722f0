"""Graph regression with message passing and a graph-wise LayerNorm, on small random molecule-like graphs in one batch.

TRUTH: The normalization divides by var.sqrt() + eps; for a graph whose features are all equal (a single atom of a kind) var is 0,
and the derivative of sqrt at 0 is infinite, times 0 gives NaN. Symptom: the first forward is fine, after the first step all
weights and the loss are NaN. Fix: (var + eps).sqrt(). Drawn from pyg-team/pytorch_geometric#2917.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_mean(x, index, size):
    out = x.new_zeros(size, *x.shape[1:]).index_add_(0, index, x)
    count = torch.bincount(index, minlength=size).clamp(min=1).to(x.dtype)
    return out / count.view(-1, *[1] * (x.dim() - 1))


class GraphLayerNorm(nn.Module):
    """Normalizes over all nodes and channels of each graph."""

    def __init__(self, in_channels, eps=1e-5, affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(in_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(in_channels)) if affine else None

    def forward(self, x, batch, num_graphs):
        norm = torch.bincount(batch, minlength=num_graphs).to(x.dtype).clamp(min=1).mul(x.size(-1)).view(-1, 1)
        mean = x.new_zeros(num_graphs, x.size(-1)).index_add_(0, batch, x).sum(-1, keepdim=True) / norm
        x = x - mean[batch]
        var = x.new_zeros(num_graphs, x.size(-1)).index_add_(0, batch, x * x).sum(-1, keepdim=True) / norm
        out = x / (var.sqrt()[batch] + self.eps)  # CULPRIT
        if self.weight is not None:
            out = out * self.weight + self.bias
        return out


class MeanConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin_self, self.lin_nei = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index):
        agg = scatter_mean(x[edge_index[0]], edge_index[1], x.size(0))
        return self.lin_self(x) + self.lin_nei(agg)


class MolNet(nn.Module):
    def __init__(self, n_types, hid=32):
        super().__init__()
        self.atom = nn.Linear(n_types, hid)
        self.convs = nn.ModuleList(MeanConv(hid, hid) for _ in range(2))
        self.norms = nn.ModuleList(GraphLayerNorm(hid) for _ in range(2))
        self.out = nn.Sequential(nn.Linear(hid, hid), nn.ReLU(), nn.Linear(hid, 1))

    def forward(self, data):
        x = F.relu(self.atom(data["x"]))
        for conv, norm in zip(self.convs, self.norms):
            x = x + F.relu(norm(conv(x, data["edge_index"]), data["batch"], data["num_graphs"]))
        return self.out(scatter_mean(x, data["batch"], data["num_graphs"])).squeeze(-1)


def random_graph(n_types, g):
    n = int(torch.randint(1, 9, (1,), generator=g))
    types = torch.randint(0, n_types, (n,), generator=g)
    x = F.one_hot(types, n_types).float()
    if n == 1:
        x = torch.zeros_like(x)
    src = torch.arange(1, n)
    dst = (torch.rand(n - 1, generator=g) * src).long()
    edge_index = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    same = (types[src] == types[dst]).float().sum() if n > 1 else torch.tensor(0.0)
    return x, edge_index, (types.float().mean() + 0.5 * same).item()


def collate(graphs):
    xs, edges, batch, off = [], [], [], 0
    for k, (x, e, _) in enumerate(graphs):
        xs.append(x)
        edges.append(e + off)
        batch.append(torch.full((len(x),), k))
        off += len(x)
    return {"x": torch.cat(xs), "edge_index": torch.cat(edges, 1), "batch": torch.cat(batch),
            "y": torch.tensor([y for *_, y in graphs]), "num_graphs": len(graphs)}


def main():
    torch.manual_seed(12)
    g = torch.Generator().manual_seed(0)
    graphs = [random_graph(4, g) for _ in range(480)]
    train, test = graphs[:400], collate(graphs[400:])
    model = MolNet(4)
    for conv in model.convs:
        nn.init.zeros_(conv.lin_self.bias)
    nn.init.zeros_(model.atom.bias)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 21):
        model.train()
        perm, total = torch.randperm(len(train), generator=g).tolist(), 0.0
        for i in range(0, len(train), 50):
            data = collate([train[k] for k in perm[i:i + 50]])
            loss = F.mse_loss(model(data), data["y"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * data["num_graphs"]
        model.eval()
        with torch.no_grad():
            mae = (model(test) - test["y"]).abs().mean().item()
        if epoch % 4 == 0 or epoch == 1:
            print(f"Epoch: {epoch:03d}, Loss: {total / len(train):.4f}, Test MAE: {mae:.4f}")


if __name__ == "__main__":
    main()
