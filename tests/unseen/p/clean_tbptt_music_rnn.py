"""LSTM next-note model on one long melody with truncated backpropagation through time and per-lane state.

TRUTH: correct: the hidden state is carried over windows and detached at each window's edge (truncated
BPTT); lanes which start a new piece get their state zeroed by a multiplication with a mask, out of place.
Two windows are accumulated per optimizer step: both are backpropagated through their own graph, weights do
not change between them, each loss is divided by the number of windows. The running perplexity is kept as
floats, clipping comes after accumulation, and validation uses its own state.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def melody(n, seed):
    """Pieces of random length in one of four scales; piece_start flags the first note of each piece."""
    g = torch.Generator().manual_seed(seed)
    scales = [[0, 2, 4, 5, 7, 9, 11], [0, 2, 3, 5, 7, 8, 10], [0, 3, 5, 6, 7, 10], [0, 2, 4, 7, 9]]
    notes, start = [], []
    while len(notes) < n:
        sc = scales[int(torch.randint(4, (1,), generator=g))]
        step, pos = int(torch.randint(1, 3, (1,), generator=g)), 0
        for k in range(int(torch.randint(40, 90, (1,), generator=g))):
            pos = (pos + step) % len(sc) if torch.rand(1, generator=g) < 0.85 else int(
                torch.randint(len(sc), (1,), generator=g))
            notes.append(sc[pos])
            start.append(1.0 if k == 0 else 0.0)
    return torch.tensor(notes[:n]), torch.tensor(start[:n])


def to_lanes(notes, start, lanes):
    width = len(notes) // lanes
    return notes[:width * lanes].view(lanes, width), start[:width * lanes].view(lanes, width)


class NoteLSTM(nn.Module):
    def __init__(self, vocab=12, dim=24, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cell = nn.LSTMCell(dim, hidden)
        self.out = nn.Linear(hidden, vocab)
        self.hidden = hidden

    def init_state(self, lanes):
        return torch.zeros(lanes, self.hidden), torch.zeros(lanes, self.hidden)

    def forward(self, notes, start, state):
        h, c = state
        logits = []
        for t in range(notes.size(1)):
            keep = (1.0 - start[:, t]).unsqueeze(1)
            h, c = self.cell(self.emb(notes[:, t]), (h * keep, c * keep))
            logits.append(self.out(h))
        return torch.stack(logits, dim=1), (h, c)


def windows(notes, start, bptt):
    for i in range(0, notes.size(1) - 1, bptt):
        j = min(i + bptt, notes.size(1) - 1)
        yield notes[:, i:j], start[:, i:j], notes[:, i + 1:j + 1]


@torch.no_grad()
def perplexity(model, notes, start, bptt):
    model.eval()
    state, total, count = model.init_state(notes.size(0)), 0.0, 0
    for x, s, y in windows(notes, start, bptt):
        logits, state = model(x, s, state)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    model.train()
    return math.exp(total / count)


def main():
    torch.manual_seed(4)
    bptt, per_step = 16, 2
    train = to_lanes(*melody(6400, 1), lanes=16)
    valid = to_lanes(*melody(1200, 2), lanes=4)
    model = NoteLSTM()
    opt = torch.optim.Adam(model.parameters(), lr=6e-3)
    for epoch in range(6):
        state = model.init_state(16)
        chunks = list(windows(*train, bptt))
        total, count = 0.0, 0
        for first in range(0, len(chunks), per_step):
            group = chunks[first:first + per_step]
            opt.zero_grad()
            for x, s, y in group:
                state = tuple(v.detach() for v in state)
                logits, state = model(x, s, state)
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
                (loss / len(group)).backward()
                total += loss.item() * y.numel()
                count += y.numel()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        print(f"epoch {epoch} train ppl {math.exp(total / count):.3f} valid ppl {perplexity(model, *valid, bptt):.3f}")


if __name__ == "__main__":
    main()
