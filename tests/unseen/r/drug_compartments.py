"""Fit the exchange rates of a three-compartment drug model to measured concentrations.

TRUTH: every step's matmul saves a slice of the preallocated tensor that later steps write into, so backward raises "modified by an inplace operation"; read the previous slice through clone() or collect the slices in a list and stack them.
"""
import torch

torch.manual_seed(11)
N_PATIENTS, N_TIMES, N_COMP, DT = 16, 40, 3, 0.25


def transition(log_rates):
    rates = log_rates.exp()
    rates = rates - torch.diag(torch.diagonal(rates))
    loss = torch.tensor([0.3, 0.0, 0.0])
    generator = rates - torch.diag(rates.sum(1) + loss)
    return torch.matrix_exp(generator * DT)


def simulate(log_rates, dose):
    step = transition(log_rates)
    amounts = torch.zeros(N_PATIENTS, N_TIMES, N_COMP)
    amounts.select(1, 0).copy_(dose)
    for t in range(1, N_TIMES):
        previous = amounts.select(1, t - 1)  # CULPRIT
        amounts.select(1, t).copy_(previous @ step)
    return amounts


def observe(amounts, volumes):
    return (amounts / volumes)[..., 0]


volumes = torch.tensor([5.0, 12.0, 20.0])
dose = torch.zeros(N_PATIENTS, N_COMP)
dose[:, 0] = torch.linspace(50, 200, N_PATIENTS)
true_rates = torch.log(torch.tensor([[1.0, 0.6, 0.3], [0.4, 1.0, 0.2], [0.1, 0.1, 1.0]]))
with torch.no_grad():
    measured = observe(simulate(true_rates, dose), volumes)
    measured += 0.05 * torch.randn_like(measured)

log_rates = torch.full((3, 3), -1.5).add_(0.1 * torch.randn(3, 3)).requires_grad_()
optimizer = torch.optim.Adam([log_rates], lr=0.05)
for it in range(80):
    optimizer.zero_grad()
    predicted = observe(simulate(log_rates, dose), volumes)
    loss = (predicted - measured).square().mean()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        print(f"it {it:3d}  mse {loss.item():.5f}")
print(f"final mse {loss.item():.5f}")
print("rates\n", log_rates.detach().exp())
