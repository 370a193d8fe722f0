"""The principal subspace on the Stiefel manifold, by QR of a free matrix."""
import torch

torch.manual_seed(0)
x = torch.randn(1024, 6) @ torch.diag(torch.tensor([5.0, 3, 1, 1, 1, 0.5])) @ torch.linalg.qr(torch.randn(6, 6))[0]
x = x - x.mean(0)
free = torch.nn.Parameter(torch.randn(6, 2))
optimizer = torch.optim.Adam([free], lr=0.05)
for step in range(150):
    q, _ = torch.linalg.qr(free)
    kept = (x @ q).square().mean(0).sum()
    loss = -kept  # at most the two largest eigenvalues
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(kept.item(), torch.linalg.eigvalsh(x.T @ x / 1024)[-2:].sum().item())
