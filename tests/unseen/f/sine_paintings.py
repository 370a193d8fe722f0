"""What the user sees: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace
operation: [torch.FloatTensor [128, 1]], which is output 0 of AsStridedBackward0, is at version 2; expected version 1. The
same simple gan code that fits the sin(x) function worked with pytorch 1.4.

TRUTH: opt_D.step() changes D's weights in place before G_loss.backward(), which still needs the old weights (prob_artist1
was computed before). Fix: compute
prob_artist1 and G_loss anew after opt_D.step() (or train G first).
THREAD: https://github.com/pytorch/pytorch/issues/39141 and MorvanZhou/PyTorch-Tutorial#91
"""
import numpy as np
import torch
import torch.nn as nn

BATCH_SIZE = 64
LR_G = 0.001
LR_D = 0.001
N_IDEAS = 5
ART_COMPONENTS = 15
PAINT_POINTS = np.vstack([np.linspace(-1, 1, ART_COMPONENTS) for _ in range(BATCH_SIZE)])


def artist_works():     # painting from the famous artist (real target)
    r = 0.02 * np.random.randn(1, ART_COMPONENTS)
    paintings = np.sin(PAINT_POINTS * np.pi) + r
    return torch.from_numpy(paintings).float()


def build():
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
    return G, D


def train(steps=1500):
    G, D = build()
    opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
    opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)

    for step in range(steps):
        artist_paintings = artist_works()           # real painting from artist
        G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)  # random ideas
        G_paintings = G(G_ideas)                    # fake painting from G

        prob_artist0 = D(artist_paintings)          # D try to increase this prob
        prob_artist1 = D(G_paintings)               # D try to reduce this prob

        D_loss = - torch.mean(torch.log(prob_artist0 + 1e-6) + torch.log(1. - prob_artist1 + 1e-6))
        G_loss = torch.mean(torch.log(1. - prob_artist1 + 1e-6))  # CULPRIT

        opt_D.zero_grad()
        D_loss.backward(retain_graph=True)
        opt_D.step()  # CULPRIT

        opt_G.zero_grad()
        G_loss.backward()
        opt_G.step()

        if step % 300 == 0:
            print('step %d D accuracy=%.2f D score=%.2f' % (step, prob_artist0.data.numpy().mean(), -D_loss.item()))
    return G


if __name__ == '__main__':
    torch.manual_seed(1)
    np.random.seed(1)
    G = train()
    with torch.no_grad():
        err = (G(torch.randn(BATCH_SIZE, N_IDEAS)) - artist_works()).abs().mean()
    print('mean distance to the artist', err.item())
