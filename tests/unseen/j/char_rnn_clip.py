# kind: clip_of_nothing
"""Character model of arithmetic strings with an LSTM; long texts, so gradients are clipped."""
import random

import torch
import torch.nn.functional as F
from torch import nn

CHARS = "0123456789+=\n"
INDEX = {c: i for i, c in enumerate(CHARS)}


def sums(n, seed=0):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        a, b = rng.randint(0, 9), rng.randint(0, 9)
        lines.append(f"{a}+{b}={a + b}\n")
    return torch.tensor([INDEX[c] for c in "".join(lines)])


class CharModel(nn.Module):
    def __init__(self, dim=16, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(CHARS))

    def forward(self, ids, state=None):
        h, state = self.lstm(self.embed(ids), state)
        return self.out(h), state


class Learner:
    def __init__(self, model, lr=5e-3, max_norm=0.25):
        self.model = model
        self.max_norm = max_norm
        self.params = (p for p in model.parameters() if p.requires_grad)  # CULPRIT
        self.optimizer = torch.optim.RMSprop(self.params, lr=lr)
        self.norms = []

    def grad_norm(self):
        return torch.stack([p.grad.norm() for p in self.model.parameters()]).norm().item()

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.max_norm)
        self.norms.append(self.grad_norm())
        self.optimizer.step()


def chunks(text, rows, length):
    """Consecutive pieces of a text that is laid out in parallel rows."""
    usable = (len(text) - 1) // rows * rows
    x = text[:usable].view(rows, -1)
    y = text[1 : usable + 1].view(rows, -1)
    for start in range(0, x.size(1) - length + 1, length):
        yield x[:, start : start + length], y[:, start : start + length]


def main():
    torch.manual_seed(0)
    text = sums(1500)
    model = CharModel()
    learner = Learner(model)
    for epoch in range(4):
        state, total, count = None, 0.0, 0
        for x, y in chunks(text, rows=16, length=24):
            logits, state = model(x, state)
            state = tuple(s.detach() for s in state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            learner.step(loss)
            total, count = total + loss.item(), count + 1
        largest = max(learner.norms)
        learner.norms.clear()
        print(f"epoch {epoch} loss {total / count:.3f} largest norm after clipping {largest:.3f}")


if __name__ == "__main__":
    main()
