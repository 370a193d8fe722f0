"""GitHub issue (torch_geometric), "Own message passing layer does not propagate from source to target"
Symptom: directed graph, the target is a function of the parents, loss as if the neighbours were random.
EXPECT: runs
TRUTH: edge_index is (source, target), the unpacking takes it as (target, source), so messages flow against the edges. Swap
the two names in the unpacking."""
import torch
import torch.nn as nn

torch.manual_seed(0)
N = 200


class SumConv(nn.Module):
    """h_i = W x_i + sum over parents j of M x_j"""

    def __init__(self, i, o):
        super().__init__()
        self.w, self.m = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index):
        dst, src = edge_index  # CULPRIT
        msg = self.m(x)[src]
        out = torch.zeros(x.size(0), msg.size(1)).index_add(0, dst, msg)
        return self.w(x) + out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = SumConv(3, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, x, e):
        return self.head(torch.relu(self.conv(x, e))).squeeze(1)


def build():
    x = torch.randn(N, 3)
    parents = torch.randint(0, N, (N, 2))
    child = torch.arange(N).unsqueeze(1).expand(N, 2)
    e = torch.stack([parents.flatten(), child.flatten()])
    y = x[parents].sum(1)[:, 0]
    return x, e, y


x, e, y = build()
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for ep in range(120):
    loss = nn.functional.mse_loss(net(x, e), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "variance", y.var().item())
