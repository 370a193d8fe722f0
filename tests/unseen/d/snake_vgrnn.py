"""VGraphRNN/VGRNN#4
Symptom: clip_grad_norm is in the loop but is not doing anything: the gradients explode and the loss gets stuck far from the solution.
EXPECT: runs
TRUTH: the gradients are clipped after optimizer.step(), when they have been used already; clip between backward() and step().
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConvGRU(nn.Module):
    def __init__(self, in_dim, hid_dim):
        super().__init__()
        self.lin_x = nn.Linear(in_dim, hid_dim)
        self.lin_h = nn.Linear(hid_dim, hid_dim, bias=False)
        nn.init.eye_(self.lin_h.weight)

    def forward(self, x, adj, h):
        return F.relu(adj @ self.lin_x(x) + adj @ self.lin_h(h))


class VGRNN(nn.Module):
    def __init__(self, x_dim, h_dim, z_dim):
        super().__init__()
        self.h_dim = h_dim
        self.rnn = GraphConvGRU(x_dim, h_dim)
        self.mean = nn.Linear(h_dim, z_dim)
        self.std = nn.Linear(h_dim, z_dim)
        self.readout = nn.Linear(z_dim, 1)

    def forward(self, x, adj):
        h = torch.zeros(x.size(1), self.h_dim)
        kld, preds = 0.0, []
        for t in range(x.size(0)):
            h = self.rnn(x[t], adj, h)
            mu, logstd = self.mean(h), -2.0 + torch.tanh(self.std(h))
            z = mu + torch.randn_like(mu) * logstd.exp()
            kld = kld + (0.5 * (mu.pow(2) + (2 * logstd).exp() - 1) - logstd).mean()
            preds.append(self.readout(z))
        return torch.stack(preds), kld / x.size(0)


def normalized_ring(n_nodes):
    adj = torch.eye(n_nodes)
    for i in range(n_nodes):
        adj[i, (i + 1) % n_nodes] = 1.0
        adj[i, (i - 1) % n_nodes] = 1.0
    return adj / adj.sum(1, keepdim=True)


def make_sequence(steps, n_nodes, x_dim):
    x = torch.rand(steps, n_nodes, x_dim)
    y = torch.cumsum(x.mean(2, keepdim=True), dim=0) / math.sqrt(steps)
    return x, y


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    n_nodes, x_dim, clip = 12, 4, 1.0
    adj = normalized_ring(n_nodes)
    train_seqs = [make_sequence(40, n_nodes, x_dim) for _ in range(8)]
    model = VGRNN(x_dim, 16, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)
    for epoch in range(15):
        total = 0.0
        for x, y in train_seqs:
            optimizer.zero_grad()
            pred, kld = model(x, adj)
            loss = F.mse_loss(pred, y) + 1e-3 * kld
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), clip)  # CULPRIT
            total += loss.item()
        print("epoch: %2d  loss: %.4g" % (epoch, total / len(train_seqs)))


if __name__ == "__main__":
    main()
