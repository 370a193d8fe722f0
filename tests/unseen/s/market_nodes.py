"""Predicts the next trade between stalls of a market, with a memory for each stall that trades update.

TRUTH: StallMemory.write stores the new memories of the stalls with their graph, and the next batch that reads one of these stalls goes back into the graph of a batch whose backward is over, so backward raises; store the memories detached.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Trades:
    seller: torch.Tensor
    buyer: torch.Tensor
    goods: torch.Tensor
    price: torch.Tensor


class Market:
    """Stalls with a hidden level of price; trades happen between random stalls."""

    def __init__(self, stalls, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.level = torch.randn(stalls, generator=self.rng)
        self.stalls = stalls

    def hour(self, count):
        order = torch.randperm(self.stalls, generator=self.rng)
        seller, buyer = order[:count], order[count:2 * count]
        goods = torch.randn(count, 2, generator=self.rng)
        price = 0.7 * self.level[seller] - 0.3 * self.level[buyer] + 0.2 * goods.sum(1)
        return Trades(seller, buyer, goods, price)


class StallMemory:
    """The last memory vector of each stall, by its number."""

    def __init__(self, width):
        self.width = width
        self._rows = {}

    def read(self, stalls):
        blank = torch.zeros(self.width)
        return torch.stack([self._rows.get(s, blank) for s in stalls.tolist()])

    def write(self, stalls, rows):
        self._rows.update(zip(stalls.tolist(), rows.unbind(0)))  # CULPRIT


class TradeModel(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.memory = StallMemory(width)
        self.cell = nn.GRUCell(3, width)
        self.price = nn.Sequential(nn.Linear(2 * width + 2, 24), nn.ReLU(), nn.Linear(24, 1))

    def refresh(self, stalls, news):
        state = self.cell(news, self.memory.read(stalls))
        self.memory.write(stalls, state)
        return state

    def forward(self, trades, last_seller, last_buyer):
        seller = self.refresh(trades.seller, torch.cat([trades.goods, last_seller[:, None]], 1))
        buyer = self.refresh(trades.buyer, torch.cat([-trades.goods, last_buyer[:, None]], 1))
        return self.price(torch.cat([seller, buyer, trades.goods], 1)).squeeze(1)


class Ticker:
    """What each stall last traded at."""

    def __init__(self, stalls):
        self.last = torch.zeros(stalls, 2)

    def look(self, trades):
        return self.last[trades.seller, 0], self.last[trades.buyer, 1]

    def note(self, trades):
        self.last[trades.seller, 0] = trades.price
        self.last[trades.buyer, 1] = trades.price


def main():
    torch.manual_seed(33)
    market, model, ticker = Market(stalls=40, seed=12), TradeModel(), Ticker(40)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(60):
        trades = market.hour(count=16)
        loss = nn.functional.mse_loss(model(trades, *ticker.look(trades)), trades.price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ticker.note(trades)
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1:3d}  loss {sum(losses[-10:]) / 10:.4f}")


if __name__ == "__main__":
    main()
