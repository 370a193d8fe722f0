"""GitHub issue (pytorch_geometric), "GCN returns nan for all nodes after one layer"
Symptom: nan loss with the new graph, fine with the old one.
EXPECT: runs
TRUTH: Nodes without edges have degree 0, deg ** -0.5 is inf, and inf * 0 is nan, which the next layer's matrix product spreads.
Set the infinite entries to 0 or add self loops before the degree is computed."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def norm_adj(edge_index, n):
    a = torch.zeros(n, n)
    a[edge_index[0], edge_index[1]] = 1.0
    a = torch.maximum(a, a.t())
    dinv = a.sum(1).pow(-0.5)  # CULPRIT
    return dinv[:, None] * a * dinv[None, :]


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)
        self.self_lin = nn.Linear(i, o, bias=False)

    def forward(self, x, adj):
        return adj @ self.lin(x) + self.self_lin(x)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GCNConv(6, 16), GCNConv(16, 2)

    def forward(self, x, adj):
        return self.c2(torch.relu(self.c1(x, adj)), adj)


n = 60
edges = torch.randint(0, n - 2, (2, 150))
x = torch.randn(n, 6)
y = (x[:, 0] > 0).long()
adj = norm_adj(edges, n)
net = GCN()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for ep in range(60):
    out = net(x, adj)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if ep % 20 == 0:
        print(ep, loss.item())
print("loss", loss.item())
