"""Classify bird species by averaging the class probabilities of several wing views.

TRUTH: cross_entropy applies log_softmax to what are already averaged probabilities, so the loss cannot fall below about ln(C - 1 + e) - 1 (1.46 for 10 classes) and stays at 1.50 although every label is right; use nll_loss of the log of the averaged probabilities.
"""
import torch
import torch.nn.functional as F
from torch import nn


class ViewEnsemble(nn.Module):
    """One network per view; the vote is the mean of the class probabilities."""

    def __init__(self, views, features, species, width=32):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, species))
            for _ in range(views)
        )

    def forward(self, x):
        votes = [net(x[:, i]).softmax(dim=-1) for i, net in enumerate(self.nets)]
        return torch.stack(votes).mean(dim=0)


class Aviary:
    def __init__(self, species, views, features, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.proto = torch.randn(species, views, features, generator=self.gen)

    def sample(self, n):
        label = torch.randint(0, len(self.proto), (n,), generator=self.gen)
        noise = torch.randn(n, *self.proto.shape[1:], generator=self.gen)
        return self.proto[label] + 0.7 * noise, label


def main(steps=150, species=10, views=3, features=12):
    torch.manual_seed(0)
    aviary = Aviary(species, views, features, seed=1)
    model = ViewEnsemble(views, features, species)
    criterion = F.cross_entropy  # CULPRIT
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x, label = aviary.sample(96)
        vote = model(x)
        loss = criterion(vote, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0 or step == steps - 1:
            hit = (vote.argmax(1) == label).float().mean().item()
            print(f"step {step:3d}  loss {loss.item():.3f}  accuracy {hit:.2f}")


if __name__ == "__main__":
    main()
