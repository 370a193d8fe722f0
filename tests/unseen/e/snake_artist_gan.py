"""pytorch/pytorch#39141, "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation?"
Symptom: the simple GAN that fits sin(x) worked in pytorch 1.4, now backward of the generator's loss raises the in-place RuntimeError.
EXPECT: raises RuntimeError
TRUTH: the generator's loss uses the discriminator's output from before opt_D.step() changed its weights in place; run the discriminator again on the paintings.
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(22)
np.random.seed(22)
torch.set_num_threads(1)

BATCH_SIZE = 64
LR_G = 0.0005
LR_D = 0.0005
N_IDEAS = 5
ART_COMPONENTS = 15
PAINT_POINTS = np.vstack([np.linspace(-1, 1, ART_COMPONENTS) for _ in range(BATCH_SIZE)])


def artist_works():
    r = 0.02 * np.random.randn(1, ART_COMPONENTS)
    paintings = np.sin(PAINT_POINTS * np.pi) + r
    return torch.from_numpy(paintings).float()


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


def main(steps=1500):
    opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
    opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)
    for step in range(steps):
        artist_paintings = artist_works()
        G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
        G_paintings = G(G_ideas)

        prob_artist0 = D(artist_paintings)
        prob_artist1 = D(G_paintings)

        D_loss = -torch.mean(torch.log(prob_artist0) + torch.log(1.0 - prob_artist1))
        opt_D.zero_grad()
        D_loss.backward(retain_graph=True)
        opt_D.step()

        G_loss = torch.mean(torch.log(1.0 - prob_artist1))  # CULPRIT
        opt_G.zero_grad()
        G_loss.backward()
        opt_G.step()

        if step % 300 == 0:
            mse = ((G_paintings - artist_paintings) ** 2).mean().item()
            print("step %d D accuracy %.3f D score %.3f mse %.3f"
                  % (step, prob_artist0.mean().item(), -D_loss.item(), mse))


if __name__ == "__main__":
    main()
