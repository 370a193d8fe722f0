"""An autoencoder with a codebook, trained with a straight-through estimator.

Planted: the codebook's loss has the detach on the wrong side, so the codes never learn;
a second scale is rounded, so its gradient is zero; the mask is changed in place.
"""

import torch
from torch import nn

torch.manual_seed(5)
BATCH, SIZE, CODES, WIDTH, STEPS = 6, 8, 5, 4, 3


class Encoder(nn.Module):
    """Two layers down to a code."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(SIZE, 12)
        self.second = nn.Linear(12, WIDTH)

    def forward(self, x):
        x = self.first(x)
        x = torch.relu(x)
        return self.second(x)  # @code


class Codebook(nn.Module):
    """The nearest of some codes, with the gradient of the continuous one."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(CODES, WIDTH))

    def forward(self, z):
        distances = ((z[:, None, :] - self.codes[None]) ** 2).sum(-1)  # @distances
        nearest = distances.argmin(dim=1)  # @nearest
        chosen = self.codes[nearest]  # @chosen
        through = z + (chosen - z).detach()  # @through
        loss = ((chosen.detach() - z) ** 2).mean()  # @commit
        return through, loss, nearest


class Decoder(nn.Module):
    """Back from a code; the volume is quantised to whole numbers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, 12)
        self.second = nn.Linear(12, SIZE)
        self.volume = nn.Parameter(torch.tensor(1.3))

    def forward(self, z):
        hidden = torch.relu(self.first(z))
        gain = torch.round(self.volume)  # @round
        return self.second(hidden) * gain  # @gain


def batch():
    """Sums of two waves."""
    phase = torch.rand(BATCH, 1) * 6.28
    ticks = torch.arange(SIZE).float()[None]
    return torch.sin(ticks + phase) + 0.5 * torch.sin(2 * ticks - phase)


def masked_error(output, target, mask):
    """The squared error where the mask is one."""
    error = (output - target) ** 2
    return (error * mask).sum() / mask.sum()  # @error


encoder, codebook, decoder = Encoder(), Codebook(), Decoder()
parameters = [
    *encoder.parameters(),
    *codebook.parameters(),
    *decoder.parameters(),
]
optimizer = torch.optim.SGD(parameters, lr=0.05)  # @optimizer

counts = torch.zeros(CODES)
for _ in range(STEPS):
    x = batch()
    mask = torch.ones(BATCH, SIZE)  # @mask
    corner = mask[:, :2]  # @corner
    corner.zero_()  # @zero
    z = encoder(x)  # @z
    quantised, commitment, index = codebook(z)  # @quantised
    output = decoder(quantised)  # @output
    reconstruction = masked_error(output, x, mask)
    loss = reconstruction + 0.25 * commitment  # @loss
    optimizer.zero_grad()
    loss.backward()  # @backward
    optimizer.step()  # @step
    counts += torch.bincount(index, minlength=CODES)  # @counts

used = (counts > 0).sum()
print(f"loss {loss.item():.3f}, {int(used)} codes in use")
