"""Align two encoders by their linear CKA, which is at most 1."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8)
other = torch.tanh(x @ torch.randn(8, 20))


def cka(a, b):
    a, b = a - a.mean(0), b - b.mean(0)
    cross = torch.linalg.matrix_norm(a.T @ b).square()
    return cross / (torch.linalg.matrix_norm(a.T @ a) * torch.linalg.matrix_norm(b.T @ b))


net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(100):
    i = torch.randint(512, (128,))
    loss = -cka(net(x[i]), other[i])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("CKA", -loss.item())
