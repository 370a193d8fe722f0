"""Classifies enzymes from their residues; an attention pooling picks the few residues of the active site.
"""
from dataclasses import dataclass
from typing import Callable, Dict

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

POOLS: Dict[str, Callable[..., nn.Module]] = {}


def pooling(name):
    def add(cls):
        POOLS[name] = cls
        return cls
    return add


@pooling("attention")
class AttentionPool(nn.Module):
    def __init__(self, dim: int, temperature: float = 0.3):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.temperature = temperature

    def forward(self, h: Tensor, present: Tensor) -> Tensor:
        score = self.score(h).squeeze(-1) / self.temperature
        weight = score.masked_fill(~present, float("-inf")).softmax(-1)
        return torch.einsum("bl,bld->bd", weight, h)


@pooling("mean")
class MeanPool(nn.Module):
    def __init__(self, dim: int):
        super().__init__()

    def forward(self, h: Tensor, present: Tensor) -> Tensor:
        mask = present.unsqueeze(-1).to(h.dtype)
        return (h * mask).sum(1) / mask.sum(1)


@dataclass
class EnzymeConfig:
    residue_dim: int = 10
    dim: int = 16
    classes: int = 4
    pool: str = "attention"
    lr: float = 5e-3
    epochs: int = 8


class EnzymeNet(nn.Module):
    def __init__(self, cfg: EnzymeConfig):
        super().__init__()
        self.cfg = cfg
        self.residue = nn.Sequential(nn.Linear(cfg.residue_dim, cfg.dim), nn.GELU())
        self.pool = POOLS[cfg.pool](cfg.dim)
        self.classify = nn.Linear(cfg.dim, cfg.classes)

    def forward(self, residues: Tensor, present: Tensor) -> Tensor:
        h = self.residue(residues)
        return self.classify(self.pool(h, present))


class Enzymes(Dataset):
    """Chains of 20 to 40 residues; one of them, with a flag in channel 0, tells the class."""

    def __init__(self, n: int, classes: int, seed: int):
        gen = torch.Generator().manual_seed(seed)
        self.chains, self.labels = [], torch.randint(classes, (n,), generator=gen)
        for y in self.labels.tolist():
            size = int(torch.randint(20, 41, (1,), generator=gen))
            chain = torch.randn(size, 10, generator=gen)
            chain[:, 0] = 0.1 * chain[:, 0]
            site = int(torch.randint(size, (1,), generator=gen))
            chain[site, 0] = 2.0
            chain[site, 1 : 1 + classes] = F.one_hot(torch.tensor(y), classes) * 2.0
            self.chains.append(chain)

    def __len__(self):
        return len(self.chains)

    def __getitem__(self, i):
        return self.chains[i], self.labels[i]


def collate(rows):
    chains, labels = zip(*rows)
    sizes = torch.tensor([len(c) for c in chains])
    padded = pad_sequence(chains, batch_first=True)
    present = torch.arange(padded.shape[1])[None] < sizes[:, None]
    return padded, present, torch.stack(labels)


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    hits = [(net(x, m).argmax(-1) == y).float() for x, m, y in loader]
    net.train()
    return torch.cat(hits).mean().item()


def main():
    torch.manual_seed(90)
    cfg = EnzymeConfig()
    train = DataLoader(Enzymes(1200, cfg.classes, 1), batch_size=64, shuffle=True, collate_fn=collate)
    held = DataLoader(Enzymes(400, cfg.classes, 2), batch_size=200, collate_fn=collate)
    net = EnzymeNet(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for x, present, y in train:
            loss = F.cross_entropy(net(x, present), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}  loss {loss.item():.4f}  held-out accuracy {accuracy(net, held):.3f}")


if __name__ == "__main__":
    main()
