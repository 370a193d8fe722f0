"""Pulses that bring a qubit from |0> to |+>: the fidelity is maximised."""
import torch

torch.manual_seed(0)
X = torch.tensor([[0, 1], [1, 0]], dtype=torch.complex64)
Z = torch.tensor([[1, 0], [0, -1]], dtype=torch.complex64)
target = torch.tensor([1, 1], dtype=torch.complex64) / 2**0.5
pulses = torch.nn.Parameter(0.1 * torch.randn(10))
optimizer = torch.optim.Adam([pulses], lr=0.05)
for step in range(100):
    psi = torch.tensor([1, 0], dtype=torch.complex64)
    for u in pulses:
        psi = torch.linalg.matrix_exp(-0.2j * (Z + u * X)) @ psi
    fidelity = torch.vdot(target, psi).abs().square()
    loss = -fidelity
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("fidelity", fidelity.item())
