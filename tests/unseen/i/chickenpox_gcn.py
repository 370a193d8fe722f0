"""WRONG. The recurrent graph network ends at a useless MSE: it predicts nearly the same case count for every county.
TRUTH: y_hat has the shape [N, 1] and snapshot.y [N], so y_hat - snapshot.y broadcasts to [N, N]; squeeze y_hat before the subtraction.
THREAD: https://github.com/benedekrozemberczki/pytorch_geometric_temporal/pull/233
"""
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
Snapshot = namedtuple('Snapshot', 'x adj y')


class DCRNN(nn.Module):
    """diffusion convolutional GRU"""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.out_channels = out_channels
        self.conv_x_z = nn.Linear(2 * (in_channels + out_channels), out_channels)
        self.conv_x_r = nn.Linear(2 * (in_channels + out_channels), out_channels)
        self.conv_x_h = nn.Linear(2 * (in_channels + out_channels), out_channels)

    def diffuse(self, lin, X, adj):
        return lin(torch.cat([X, adj @ X], dim=1))

    def forward(self, X, adj, H=None):
        if H is None:
            H = torch.zeros(X.shape[0], self.out_channels)
        Z = torch.sigmoid(self.diffuse(self.conv_x_z, torch.cat([X, H], 1), adj))
        R = torch.sigmoid(self.diffuse(self.conv_x_r, torch.cat([X, H], 1), adj))
        H_tilde = torch.tanh(self.diffuse(self.conv_x_h, torch.cat([X, H * R], 1), adj))
        return Z * H + (1 - Z) * H_tilde


class RecurrentGCN(nn.Module):
    def __init__(self, node_features):
        super().__init__()
        self.recurrent = DCRNN(node_features, 32)
        self.linear = nn.Linear(32, 1)

    def forward(self, x, adj):
        h = self.recurrent(x, adj)
        h = F.relu(h)
        h = self.linear(h)
        return h


def make_signal(T=60, N=20, lags=4):
    adj = (torch.rand(N, N) < 0.2).float()
    adj = torch.maximum(adj, adj.t()) + torch.eye(N)
    adj = adj / adj.sum(1, keepdim=True)
    series = [torch.randn(N)]
    for _ in range(T + lags):
        series.append(0.5 * series[-1] + 0.5 * adj @ series[-1] + 0.5 * torch.randn(N))
    s = torch.stack(series, 1)
    return [Snapshot(s[:, t:t + lags], adj, s[:, t + lags]) for t in range(T)]


dataset = make_signal()
train_dataset, test_dataset = dataset[:45], dataset[45:]
model = RecurrentGCN(node_features=4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

model.train()
for epoch in range(150):
    cost = 0
    for time, snapshot in enumerate(train_dataset):
        y_hat = model(snapshot.x, snapshot.adj)
        cost = cost + torch.mean((y_hat - snapshot.y)**2)  # CULPRIT
    cost = cost / (time + 1)
    cost.backward()
    optimizer.step()
    optimizer.zero_grad()
    if epoch % 50 == 49:
        print('epoch', epoch, 'cost %.4f' % cost.item())

model.eval()
with torch.no_grad():
    out = torch.stack([model(s.x, s.adj).view(-1) for s in test_dataset])
    ys = torch.stack([s.y for s in test_dataset])
print('test mse per node %.4f, variance of the data %.4f' % ((out - ys).pow(2).mean(), ys.var()))
print('std of the predictions over nodes %.4f' % out.std(1).mean())
