"""Ginzburg-Landau free energy of an order parameter on a ring, minimised."""
import torch

torch.manual_seed(0)
phi = torch.nn.Parameter(0.3 * torch.randn(128))
optimizer = torch.optim.Adam([phi], lr=0.02)
R, U, STIFF = 10.0, 1.0, 4.0
for step in range(400):
    squared = phi.square()
    ordering = R * squared.mean()
    quartic = U * squared.square().mean()
    bending = STIFF * (phi.roll(1) - phi).square().mean()
    energy = quartic + bending - ordering
    optimizer.zero_grad()
    energy.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, energy.item())
print("least", -(R**2) / (4 * U))
