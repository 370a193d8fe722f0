"""Soft graph cuts: the normalised association of clusters, at most 1, is maximised."""
import torch
from torch import nn

torch.manual_seed(0)
group = torch.arange(60) % 3
adj = (torch.rand(60, 60) < torch.where(group[:, None] == group, 0.5, 0.05)).float().triu(1)
adj = adj + adj.T
degree = adj.sum(1)
x = torch.randn(60, 4) + 2 * torch.eye(4)[group]
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    s = net(x).softmax(1)
    inside = torch.einsum("ik,ij,jk->k", s, adj, s)
    volume = torch.einsum("ik,i,ik->k", s, degree, s) + torch.einsum("ik,i->k", s, degree)
    loss = -(inside / volume).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), s.argmax(1)[:9].tolist())
