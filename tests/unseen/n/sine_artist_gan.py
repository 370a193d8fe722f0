"""WRONG. RuntimeError at G_loss.backward(): one of the variables needed for gradient computation has been modified by an inplace operation (ran in PyTorch 1.4, fails since 1.5).
TRUTH: G_loss is computed with the old weights of D; opt_D.step() changes them in place before G_loss.backward() needs them. Compute G_loss (a new pass D(G_paintings)) after opt_D.step().
THREAD: https://github.com/pytorch/pytorch/issues/39141
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)

# Hyper Parameters
BATCH_SIZE = 64
LR_G = 0.002
LR_D = 0.002
N_IDEAS = 5
ART_COMPONENTS = 15
STEPS = 300
PAINT_POINTS = torch.linspace(-1, 1, ART_COMPONENTS).repeat(BATCH_SIZE, 1)


def artist_works():
    r = 0.02 * torch.randn(1, ART_COMPONENTS)
    paintings = torch.sin(PAINT_POINTS * math.pi) + r
    return paintings


G = nn.Sequential(
    nn.Linear(N_IDEAS, 128),
    nn.ReLU(),
    nn.Linear(128, ART_COMPONENTS),
)

D = nn.Sequential(
    nn.Linear(ART_COMPONENTS, 128),
    nn.ReLU(),
    nn.Linear(128, 1),
    nn.Sigmoid(),
)

opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)


def log(prob):
    return torch.log(prob.clamp(1e-6, 1.0))


def show(step, prob0, g_paintings):
    with torch.no_grad():
        dist = (g_paintings - torch.sin(PAINT_POINTS * math.pi)).abs().mean()
    print(f"step {step:3d}  D accuracy={prob0.mean().item():.2f} (0.5 for D to converge)  "
          f"distance to the sine {dist.item():.3f}")


def train():
    first = None
    for step in range(STEPS):
        artist_paintings = artist_works()
        G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
        G_paintings = G(G_ideas)

        prob_artist0 = D(artist_paintings)
        prob_artist1 = D(G_paintings)

        D_loss = -torch.mean(log(prob_artist0) + log(1.0 - prob_artist1))
        G_loss = torch.mean(log(1.0 - prob_artist1))  # CULPRIT

        opt_D.zero_grad()
        D_loss.backward(retain_graph=True)
        opt_D.step()  # CULPRIT

        opt_G.zero_grad()
        G_loss.backward()
        opt_G.step()

        if first is None:
            first = D_loss.item()
        if step % 50 == 0:
            show(step, prob_artist0, G_paintings)
    print(f"D loss at the start {first:.3f}, at the end {D_loss.item():.3f}")


if __name__ == "__main__":
    train()
