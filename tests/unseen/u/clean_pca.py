"""The first principal component by gradient descent on a unit direction."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(1024, 6) @ torch.diag(torch.tensor([5.0, 2, 1, 1, 1, 0.5])) @ torch.linalg.qr(torch.randn(6, 6))[0]
x = x - x.mean(0)
w = torch.nn.Parameter(torch.randn(6))
optimizer = torch.optim.Adam([w], lr=0.05)
for step in range(150):
    variance = (x @ F.normalize(w, dim=0)).square().mean()
    loss = -variance  # at most the first eigenvalue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(variance.item(), torch.linalg.eigvalsh(x.T @ x / 1024)[-1].item())
