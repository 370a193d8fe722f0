"""GRU intent classifier on packed, length-sorted batches of variable-length sequences.

TRUTH: the batch is sorted by length for the packed GRU and the final states are put back in the
original order afterwards. unsort_batch writes the rows into the very tensor it is reading from, so a
row that was overwritten earlier in the loop is copied on: some sentences get the state of another
sentence and others are lost. Symptom: rows of the returned states are duplicated, labels are paired
with states of other sentences, gradient of the lost sentences' states is zero, accuracy stays far below
what the model reaches (batch result differs from one-by-one result). Fix: write into a fresh tensor,
e.g. `out = torch.empty_like(states)` (or return states[inverse_permutation]).
Drawn from mead-ml/mead-baseline#677.
"""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


def make_example(n_intents, vocab, gen):
    intent = int(torch.randint(n_intents, (1,), generator=gen))
    length = int(torch.randint(4, 14, (1,), generator=gen))
    words = torch.randint(n_intents + 1, vocab, (length,), generator=gen)
    words[int(torch.randint(length, (1,), generator=gen))] = intent + 1
    return words, intent


def make_input(batch):
    """Pad a list of (words, intent) and order it by decreasing length, as pack_padded_sequence wants."""
    lengths = torch.tensor([len(w) for w, _ in batch])
    lengths, perm = lengths.sort(descending=True, stable=True)
    padded = pad_sequence([w for w, _ in batch], batch_first=True)[perm]
    labels = torch.tensor([y for _, y in batch])
    return padded, lengths, perm, labels


def unsort_batch(states, perm):
    """Undo the sort done in make_input."""
    out = states  # CULPRIT
    for row, original in enumerate(perm.tolist()):
        out[original] = states[row]
    return out


class IntentModel(nn.Module):
    def __init__(self, vocab, n_intents, dsz=24, hsz=48, dropout=0.1):
        super().__init__()
        self.embed = nn.Embedding(vocab, dsz, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.GRU(dsz, hsz, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * hsz, n_intents)

    def encode(self, x, lengths):
        packed = pack_padded_sequence(self.dropout(self.embed(x)), lengths, batch_first=True)
        _, h = self.rnn(packed)
        return torch.cat([h[0], h[1]], dim=-1)

    def forward(self, x, lengths, perm):
        pooled = unsort_batch(self.encode(x, lengths), perm)
        return self.output(pooled)


class ClassifyTrainer:
    def __init__(self, model, lr=5e-3, clip=5.0):
        self.model = model
        self.clip = clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.crit = nn.CrossEntropyLoss()

    def train_epoch(self, batches):
        self.model.train()
        total, n = 0.0, 0
        for batch in batches:
            x, lengths, perm, y = make_input(batch)
            self.optimizer.zero_grad()
            loss = self.crit(self.model(x, lengths, perm), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        return total / n

    @torch.no_grad()
    def test(self, batches):
        self.model.eval()
        right, n = 0, 0
        for batch in batches:
            x, lengths, perm, y = make_input(batch)
            right += (self.model(x, lengths, perm).argmax(-1) == y).sum().item()
            n += len(y)
        return right / n


def main():
    torch.manual_seed(13)
    gen = torch.Generator().manual_seed(5)
    vocab, n_intents, bsz = 60, 6, 32
    data = [make_example(n_intents, vocab, gen) for _ in range(1600)]
    train, dev = data[:1280], data[1280:]
    trainer = ClassifyTrainer(IntentModel(vocab, n_intents))
    for epoch in range(6):
        order = torch.randperm(len(train), generator=gen).tolist()
        batches = [[train[j] for j in order[i:i + bsz]] for i in range(0, len(order), bsz)]
        loss = trainer.train_epoch(batches)
        acc = trainer.test([dev[i:i + bsz] for i in range(0, len(dev), bsz)])
        single = trainer.test([[ex] for ex in dev[:100]])
        print(f"epoch {epoch} train_loss {loss:.4f} dev_acc {acc:.3f} dev_acc_single {single:.3f}")


if __name__ == "__main__":
    main()
