"""The dual of a support vector machine without bias, its multipliers kept above 0."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.cat([torch.randn(60, 2) + 1.5, torch.randn(60, 2) - 1.5])
y = torch.cat([torch.ones(60), -torch.ones(60)])
kernel = torch.exp(-torch.cdist(x, x).square() / 2)
q = (y[:, None] * y) * kernel + 0.1 * torch.eye(120)  # squared hinge: C = 10
raw = torch.nn.Parameter(torch.full((120,), -4.0))
optimizer = torch.optim.Adam([raw], lr=0.05)
for step in range(500):
    alpha = F.softplus(raw)
    quadratic = 0.5 * (alpha @ q @ alpha)
    total = alpha.sum()
    loss = quadratic - total
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
decision = kernel @ (F.softplus(raw).detach() * y)
print("accuracy", (decision.sign() == y).float().mean().item())
