"""Geometry of a cluster of 13 atoms: the least Lennard-Jones energy."""
import torch

torch.manual_seed(0)
N = 13
position = torch.nn.Parameter(1.6 * torch.randn(N, 3))
with torch.no_grad():  # push apart what overlaps
    for _ in range(200):
        d = position[:, None] - position[None]
        r = d.norm(dim=-1, keepdim=True) + torch.eye(N)[..., None]
        position += 0.1 * (d / r * torch.relu(1.6 - r)).sum(1)
optimizer = torch.optim.Adam([position], lr=0.01)
i, j = torch.triu_indices(N, N, 1)
for step in range(600):
    r = (position[i] - position[j]).norm(dim=1)
    attraction = r.pow(-6).sum()
    repulsion = r.pow(-12).sum()
    energy = 4 * (repulsion - attraction)
    optimizer.zero_grad()
    energy.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, energy.item())
print("energy", energy.item(), "global minimum -44.33")
