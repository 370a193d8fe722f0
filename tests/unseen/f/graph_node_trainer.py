"""What the user sees: I set --max-grad-norm 1.0 for stability but the training still blows up, it makes no difference
which value I put.

TRUTH: clip_grad_norm_ is called after optimizer.step(), the optimizer has already used the unclipped gradients. Fix: clip
between backward() and step().
THREAD: https://github.com/awslabs/graphstorm/pull/1382 (issue 1366); same in VGraphRNN/VGRNN#4
"""
import argparse

import torch as th
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.w_self = nn.Linear(in_dim, out_dim)
        self.w_neigh = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, adj, h):
        return self.w_self(h) + self.w_neigh(adj @ h)


class NodeRegressor(nn.Module):
    def __init__(self, in_dim, hid):
        super().__init__()
        self.conv1 = GraphConv(in_dim, hid)
        self.conv2 = GraphConv(hid, hid)
        self.decoder = nn.Linear(hid, 1)

    def forward(self, adj, x):
        h = F.relu(self.conv1(adj, x))
        h = F.relu(self.conv2(adj, h))
        return self.decoder(h).squeeze(-1)


class NodeTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = th.optim.SGD(model.parameters(), lr=lr)

    def fit(self, graphs, num_epochs, max_grad_norm=None, grad_norm_type=2.0):
        model = self.model
        for epoch in range(num_epochs):
            model.train()
            total = 0.0
            for adj, feats, labels in graphs:
                pred = model(adj, feats)
                loss = F.mse_loss(pred, labels)

                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

                if max_grad_norm is not None:
                    th.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm, grad_norm_type)  # CULPRIT

                total += loss.item()
            print(f'Epoch {epoch:2d} train loss {total / len(graphs):.4f}')


def build_graphs(n_graphs=20, n=40, d=6):
    gen = th.Generator().manual_seed(3)
    w = th.randn(d, generator=gen)
    out = []
    for g in range(n_graphs):
        adj = (th.rand(n, n, generator=gen) < 0.1).float()
        adj = adj / adj.sum(1, keepdim=True).clamp(min=1)
        x = th.randn(n, d, generator=gen)
        if g % 5 == 4:
            x = x * 6
        y = x @ w + (adj @ x) @ w.flip(0)
        out.append((adj, x, y))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--max-grad-norm', type=float, default=1.0)
    parser.add_argument('--lr', type=float, default=0.05)
    parser.add_argument('--num-epochs', type=int, default=25)
    args = parser.parse_args()
    th.manual_seed(0)
    trainer = NodeTrainer(NodeRegressor(6, 32), args.lr)
    trainer.fit(build_graphs(), args.num_epochs, max_grad_norm=args.max_grad_norm)


if __name__ == '__main__':
    main()
