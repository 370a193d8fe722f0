"""Estimates how often White wins after an opening, from learned tables of ECO codes (A00 to E99) and rating bands.

TRUTH: the table has 100 rows per letter counted from "A" to "E" with range(ord("A"), ord("E")), which leaves "E" out: rows 400..499 are missing; "IndexError: index out of range in self" at the first batch with an E opening; count "E" as well.
"""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

LETTERS = [chr(c) for c in range(ord("A"), ord("E"))]  # CULPRIT


def eco_row(code):
    return (ord(code[0]) - ord("A")) * 100 + int(code[1:])


@dataclass
class Game:
    eco: str
    white: int
    black: int
    score: float


class OpeningModel(nn.Module):
    def __init__(self, bands=8, width=8):
        super().__init__()
        self.opening = nn.Embedding(100 * len(LETTERS), width)
        self.band = nn.Embedding(bands, width)
        self.out = nn.Sequential(nn.Linear(3 * width, 32), nn.ReLU(), nn.Linear(32, 1))
        nn.init.normal_(self.opening.weight, std=0.1)

    def forward(self, eco, white, black):
        h = torch.cat([self.opening(eco), self.band(white), self.band(black)], dim=-1)
        return self.out(h).squeeze(-1)


def play(n, generator):
    edge = torch.randn(500, generator=generator) * 0.5
    games = []
    for _ in range(n):
        row = int(torch.randint(0, 500, (1,), generator=generator))
        white, black = torch.randint(0, 8, (2,), generator=generator).tolist()
        p = torch.sigmoid(edge[row] + 0.8 * (white - black))
        score = float(torch.rand((), generator=generator) < p)
        games.append(Game(f"{'ABCDE'[row // 100]}{row % 100:02d}", white, black, score))
    return games


def collate(games):
    eco = torch.tensor([eco_row(g.eco) for g in games])
    bands = torch.tensor([[g.white, g.black] for g in games])
    return eco, bands[:, 0], bands[:, 1], torch.tensor([g.score for g in games])


def main(steps=150, batch=64):
    torch.manual_seed(39)
    gen = torch.Generator().manual_seed(39)
    games = play(3000, gen)
    model = OpeningModel()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        chosen = torch.randint(0, len(games), (batch,), generator=gen).tolist()
        eco, white, black, score = collate([games[i] for i in chosen])
        loss = F.binary_cross_entropy_with_logits(model(eco, white, black), score)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, round(loss.item(), 4))
    print("final", loss.item())


if __name__ == "__main__":
    main()
