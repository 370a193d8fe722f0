"""A character model with an LSTM cell whose state is kept from chunk to chunk.

Planted: the temperature goes through a Python number, the position table is used only
under no_grad, and a buffer of states shares memory with a view that is written.
"""

import torch
from torch import nn

torch.manual_seed(7)
TEXT = "the cat sat on the mat. the dog sat on the log. "
WIDTH, CHUNK, CHUNKS = 12, 6, 4

letters = sorted(set(TEXT))
number = {letter: place for place, letter in enumerate(letters)}
encoded = torch.tensor([number[letter] for letter in TEXT])


class Model(nn.Module):
    """Embedding, cell, and the scores of the next letter."""

    def __init__(self, size):
        super().__init__()
        self.embedding = nn.Embedding(size, WIDTH)
        self.positions = nn.Parameter(0.1 * torch.randn(CHUNK, WIDTH))
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, size)
        self.temperature = nn.Parameter(torch.tensor(1.7))

    def place(self, step):
        """The vector of a position."""
        with torch.no_grad():  # @no_grad
            return self.positions[step] * 1.0  # @positions

    def forward(self, chunk, state):
        scores = []
        for step, letter in enumerate(chunk):
            x = self.embedding(letter[None]) + self.place(step)
            state = self.cell(x, state)  # @cell
            hidden = self.norm(state[0])  # @norm
            scores.append(self.head(hidden))
        scale = self.temperature.item()  # @item
        return torch.cat(scores) / scale, state  # @scaled


def chunks(text):
    """Inputs and targets, one letter apart."""
    for start in range(0, CHUNK * CHUNKS, CHUNK):
        inputs = text[start : start + CHUNK]
        targets = text[start + 1 : start + CHUNK + 1]
        yield inputs, targets


def kept(state):
    """The state without the graph of the chunk that it came from."""
    return tuple(each.detach() for each in state)  # @kept


model = Model(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # @optimizer
state = (torch.zeros(1, WIDTH), torch.zeros(1, WIDTH))
memory = torch.zeros(CHUNKS, WIDTH)  # @memory

total = 0.0
for place, (inputs, targets) in enumerate(chunks(encoded)):
    logits, state = model(inputs, state)  # @logits
    loss = nn.functional.cross_entropy(logits, targets)  # @loss
    optimizer.zero_grad()
    loss.backward()  # @backward
    optimizer.step()  # @step
    total += loss.item()
    state = kept(state)
    row = memory[place]  # @row
    row.copy_(state[0][0])  # @copy

average = memory.mean(0)  # @average


def sample(model, state, letter, count):
    """Some letters, one by one."""
    found = []
    with torch.no_grad():  # @sampling
        for _ in range(count):
            logits, state = model(letter[None], state)
            letter = logits[0].argmax()
            found.append(letters[int(letter)])
    return "".join(found)


written = sample(model, state, encoded[0], 5)
print(f"{total / CHUNKS:.3f} {average.norm().item():.3f} {written!r}")
