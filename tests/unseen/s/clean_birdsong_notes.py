"""Learns to continue birdsong, written as note numbers, from songs of different lengths."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


@dataclass(frozen=True)
class Alphabet:
    silence: int = 0
    start: int = 1
    notes: int = 9

    @property
    def size(self):
        return self.notes + 2


class Aviary:
    """Songs are walks over the notes, with a step that depends on the bird."""

    def __init__(self, alphabet, seed):
        self.alphabet = alphabet
        self.rng = torch.Generator().manual_seed(seed)

    def _int(self, low, high):
        return int(torch.randint(low, high, (1,), generator=self.rng))

    def song(self):
        length, stride, note = self._int(3, 30), self._int(1, 4), self._int(0, 9)
        walk = (note + stride * torch.arange(length)) % self.alphabet.notes
        return torch.cat([torch.tensor([self.alphabet.start]), walk + 2])

    def batch(self, size):
        songs = [self.song() for _ in range(size)]
        return pad_sequence(songs, batch_first=True, padding_value=self.alphabet.silence)


class Singer(nn.Module):
    def __init__(self, alphabet, width=32):
        super().__init__()
        self.notes = nn.Embedding(alphabet.size, width, padding_idx=alphabet.silence)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, alphabet.size)

    def forward(self, song):
        states, _ = self.memory(self.notes(song))
        return self.out(states)


class SongLoss:
    def __init__(self, alphabet, smoothing=0.02):
        self.alphabet = alphabet
        self.options = dict(label_smoothing=smoothing, ignore_index=alphabet.silence)

    def __call__(self, scores, target):
        return nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten(), **self.options)


def note_accuracy(scores, target, alphabet):
    heard = target != alphabet.silence
    return (scores.argmax(-1) == target)[heard].float().mean().item()


def main():
    torch.manual_seed(8)
    alphabet = Alphabet()
    aviary, singer, criterion = Aviary(alphabet, seed=3), Singer(alphabet), SongLoss(alphabet)
    optimizer = torch.optim.Adam(singer.parameters(), lr=1e-2)
    for step in range(50):
        songs = aviary.batch(24)
        past, future = songs[:, :-1], songs[:, 1:]
        scores = singer(past)
        loss = criterion(scores, future)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(singer.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            share = note_accuracy(scores, future, alphabet)
            print(f"step {step + 1:3d}  loss {loss.item():.4f}  notes right {share:.3f}")


if __name__ == "__main__":
    main()
