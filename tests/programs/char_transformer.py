"""Train a small character-level transformer to continue a nursery rhyme.

    python char_transformer.py [steps]

Prints the loss of every step, and at the end what the model makes of a first letter.
"""

import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

TEXT = (
    "the itsy bitsy spider climbed up the water spout. down came the rain and washed "
    "the spider out. out came the sun and dried up all the rain, and the itsy bitsy "
    "spider climbed up the spout again. "
)
LETTERS = sorted(set(TEXT))
CODE = {letter: number for number, letter in enumerate(LETTERS)}
CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 32, 48, 4, 2, 16


class Positions(nn.Module):
    """Adds sines and cosines of the position, as "Attention Is All You Need" does."""

    def __init__(self, width, longest=256):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class CharTransformer(nn.Module):
    """Encoder blocks under a causal mask, with the embedding tied to the output."""

    def __init__(self, letters):
        super().__init__()
        self.embedding = nn.Embedding(letters, WIDTH)
        self.positions = Positions(WIDTH)
        self.dropout = nn.Dropout(0.1)
        block = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.1, activation="gelu", batch_first=True
        )
        self.blocks = nn.TransformerEncoder(block, LAYERS, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, letters, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.head.weight = self.embedding.weight

    def forward(self, codes):
        mask = nn.Transformer.generate_square_subsequent_mask(codes.size(1))
        x = self.dropout(self.positions(self.embedding(codes) * math.sqrt(WIDTH)))
        return self.head(self.norm(self.blocks(x, mask=mask, is_causal=True)))

    @torch.no_grad()
    def continued(self, start, length):
        self.eval()
        codes = torch.tensor([[CODE[letter] for letter in start]])
        for _ in range(length):
            logits = self(codes[:, -CONTEXT:])[:, -1]
            codes = torch.cat([codes, logits.argmax(-1, keepdim=True)], dim=1)
        return "".join(LETTERS[code] for code in codes[0].tolist())


def batch_of(data):
    starts = torch.randint(len(data) - CONTEXT - 1, (BATCH,))
    windows = torch.stack([data[start : start + CONTEXT + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def main(steps=50):
    torch.manual_seed(0)
    data = torch.tensor([CODE[letter] for letter in TEXT])
    model = CharTransformer(len(LETTERS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    for step in range(steps):
        inputs, targets = batch_of(data)
        logits = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        print(f"step {step} loss {loss.item():.6f}")
    print(repr(model.continued("t", 40)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
