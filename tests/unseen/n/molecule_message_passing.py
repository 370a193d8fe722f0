"""WRONG. The message passing network cannot even fit the number and the sum of neighbours; sums over neighbours come out as if each atom had one neighbour only.
TRUTH: agg[dst] += msg writes each index once: for repeated indices in dst only one message is kept. Use agg.index_add(0, dst, msg) (or index_put with accumulate=True).
THREAD: https://github.com/pytorch/pytorch/issues/3844
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

args = {"n_nodes": 12, "p_edge": 0.35, "feat": 4, "hidden": 24, "layers": 1, "lr": 0.01, "steps": 200}


def random_graph(n, p):
    upper = torch.triu(torch.rand(n, n) < p, diagonal=1)
    src, dst = (upper | upper.t()).nonzero(as_tuple=True)
    return src, dst


def collate(graphs):
    xs, srcs, dsts, ys, offset = [], [], [], [], 0
    for x, src, dst, y in graphs:
        xs.append(x)
        srcs.append(src + offset)
        dsts.append(dst + offset)
        ys.append(y)
        offset += x.size(0)
    return torch.cat(xs), torch.cat(srcs), torch.cat(dsts), torch.cat(ys)


def make_dataset(n_graphs):
    graphs = []
    for _ in range(n_graphs):
        src, dst = random_graph(args["n_nodes"], args["p_edge"])
        x = torch.randn(args["n_nodes"], args["feat"])
        adj = torch.zeros(args["n_nodes"], args["n_nodes"])
        adj[dst, src] = 1.0
        y = (adj @ x)[:, 0] - 0.5 * x[:, 1] + 0.3 * adj.sum(1)
        graphs.append((x, src, dst, y))
    return collate(graphs)


class MPLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.update = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, h, src, dst):
        msg = self.message(torch.cat([h[src], h[dst]], dim=-1))
        agg = torch.zeros_like(h)
        agg[dst] += msg  # CULPRIT
        return h + self.update(torch.cat([h, agg], dim=-1))


class MPNN(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Linear(args["feat"], args["hidden"])
        self.layers = nn.ModuleList([MPLayer(args["hidden"]) for _ in range(args["layers"])])
        self.readout = nn.Linear(args["hidden"], 1)

    def forward(self, x, src, dst):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h, src, dst)
        return self.readout(h).squeeze(-1)


def r2_score(pred, y):
    return (1 - ((pred - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()).item()


def main():
    train, test = make_dataset(40), make_dataset(20)
    model = MPNN(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args["lr"])
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=20, factor=0.5)
    x, src, dst, y = train
    print("mean number of neighbours", round(len(dst) / len(x), 2))
    for step in range(args["steps"]):
        model.train()
        pred = model(x, src, dst)
        loss = F.mse_loss(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plateau.step(loss.item())
        if step % 40 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"R2 train {r2_score(model(x, src, dst), y):.3f} "
              f"test {r2_score(model(*test[:3]), test[3]):.3f}")


if __name__ == "__main__":
    main()
