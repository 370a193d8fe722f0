"""CORRECT. GAN in which the paintings are not detached for the discriminator's loss; one forward, retain_graph, two optimizers: each optimizer steps only its own net and zeroes its gradients before (asked whether a detach is missing).
THREAD: https://github.com/MorvanZhou/PyTorch-Tutorial/issues/80
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1)
np.random.seed(1)

BATCH_SIZE = 64
LR_G = 0.0005
LR_D = 0.0005
N_IDEAS = 5
ART_COMPONENTS = 15
PAINT_POINTS = np.vstack([np.linspace(-1, 1, ART_COMPONENTS) for _ in range(BATCH_SIZE)])


def artist_works():
    a = np.random.uniform(1, 2, size=BATCH_SIZE)[:, np.newaxis]
    paintings = a * np.power(PAINT_POINTS, 2) + (a - 1)
    return torch.from_numpy(paintings).float()


G = nn.Sequential(
    nn.Linear(N_IDEAS, 64),
    nn.ReLU(),
    nn.Linear(64, ART_COMPONENTS),
)

D = nn.Sequential(
    nn.Linear(ART_COMPONENTS, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
    nn.Sigmoid(),
)

opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)


def generator_step():
    G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
    G_paintings = G(G_ideas)
    prob_artist1 = D(G_paintings)
    G_loss = torch.mean(torch.log(1. - prob_artist1 + 1e-8))
    opt_G.zero_grad()
    G_loss.backward()
    opt_G.step()
    return G_loss.item()


def discriminator_step():
    artist_paintings = artist_works()
    G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
    G_paintings = G(G_ideas)
    prob_artist0 = D(artist_paintings)
    prob_artist1 = D(G_paintings)
    D_loss = - torch.mean(torch.log(prob_artist0 + 1e-8) + torch.log(1. - prob_artist1 + 1e-8))
    opt_D.zero_grad()
    D_loss.backward(retain_graph=True)
    opt_D.step()
    return D_loss.item(), prob_artist0.mean().item()


def main(steps=2000):
    target = artist_works().mean(0)
    for step in range(steps):
        g = generator_step()
        d, p = discriminator_step()
        if step % 500 == 499:
            with torch.no_grad():
                gap = (G(torch.randn(512, N_IDEAS)).mean(0) - target).abs().mean().item()
            print('step %d G %.3f D %.3f D accuracy %.3f distance of the means %.3f' % (step + 1, g, d, p, gap))


if __name__ == '__main__':
    main()
