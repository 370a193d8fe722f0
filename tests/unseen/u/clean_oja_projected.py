"""The first principal component by projected gradient ascent."""
import torch

torch.manual_seed(0)
x = torch.randn(1024, 6) @ torch.diag(torch.tensor([5.0, 2, 1, 1, 1, 0.5])) @ torch.linalg.qr(torch.randn(6, 6))[0]
x = x - x.mean(0)
w = torch.nn.Parameter(torch.randn(6) / 6**0.5)
optimizer = torch.optim.SGD([w], lr=0.02)
for step in range(150):
    variance = (x[torch.randint(1024, (256,))] @ w).square().mean()
    loss = -variance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        w /= w.norm()  # back to the sphere
print(variance.item(), torch.linalg.eigvalsh(x.T @ x / 1024)[-1].item())
