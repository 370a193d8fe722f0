"""Train a variational autoencoder on pictures of random rectangles.

    python vae.py [steps]

Prints the loss of every step, and at the end the mean brightness of new pictures.
"""

import sys
from itertools import islice

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, Dataset

SIDE, LATENT = 16, 4


class Rectangles(Dataset):
    """Pictures of one bright rectangle each, 1 x 16 x 16, drawn as asked for."""

    def __init__(self, number):
        self.corners = torch.randint(0, SIDE // 2, (number, 2))
        self.sizes = torch.randint(3, SIDE // 2, (number, 2))

    def __len__(self):
        return len(self.corners)

    def __getitem__(self, index):
        (top, left), (height, width) = self.corners[index], self.sizes[index]
        picture = torch.zeros(1, SIDE, SIDE)
        picture[0, top : top + height, left : left + width] = 1.0
        return picture


class VAE(nn.Module):
    """Convolutions down to the mean and spread of a code, and back up to a picture."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 4, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(8, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Flatten(),
        )
        self.mean = nn.Linear(16 * 4 * 4, LATENT)
        self.log_scale = nn.Linear(16 * 4 * 4, LATENT)
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, 16 * 4 * 4),
            nn.ELU(),
            nn.Unflatten(1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ELU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, pictures):
        hidden = self.encoder(pictures)
        code = Normal(self.mean(hidden), self.log_scale(hidden).exp())
        return self.decoder(code.rsample()), code


def loss_of(logits, pictures, code):
    """Return what is lost in the code, and how far codes are from the prior."""
    reconstruction = F.binary_cross_entropy_with_logits(
        logits, pictures, reduction="none"
    )
    prior = Normal(torch.zeros(LATENT), torch.ones(LATENT))
    return (
        reconstruction.sum(dim=(1, 2, 3)).mean()
        + kl_divergence(code, prior).sum(1).mean()
    )


def main(steps=50):
    torch.manual_seed(0)
    loader = DataLoader(Rectangles(400), batch_size=32, shuffle=True, drop_last=True)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    endless = (pictures for _ in iter(int, 1) for pictures in loader)
    for step, pictures in enumerate(islice(endless, steps)):
        logits, code = model(pictures)
        loss = loss_of(logits, pictures, code)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")
    with torch.no_grad():
        new = model.decoder(torch.randn(8, LATENT)).sigmoid()
    print(f"mean brightness {new.mean().item():.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
