# kind: last_step_is_padding
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(41)
PAD, VOCAB, LONGEST = 0, 40, 30


class Reviews(Dataset):
    """The polarity of a review is that of its last opinion word; some reviews are long."""

    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(4, 9, (1,))) if torch.rand(()) < 0.8 else LONGEST
            words = torch.randint(9, VOCAB, (length,))
            spots = torch.randperm(length)[:3].sort().values
            words[spots] = torch.randint(1, 9, (3,))
            self.rows.append((words, float(words[spots[-1]] % 2)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def pad_batch(rows):
    words, labels = zip(*rows)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels)


def final_state(outputs, lengths):
    return outputs[:, lengths.max() - 1]  # CULPRIT


class PolarityRNN(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)

    def forward(self, words, lengths):
        outputs, _ = self.rnn(self.embed(words))
        return self.score(final_state(outputs, lengths)).squeeze(-1)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = [((model(w, n) > 0) == y.bool()) for w, n, y in loader]
    model.train()
    return torch.cat(hits).float().mean().item()


def main():
    train = DataLoader(Reviews(600), batch_size=30, shuffle=True, collate_fn=pad_batch)
    test = DataLoader(Reviews(200), batch_size=100, collate_fn=pad_batch)
    model = PolarityRNN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        total = 0.0
        for words, lengths, labels in train:
            loss = loss_fn(model(words, lengths), labels)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train):.3f} test acc {accuracy(model, test):.3f}")


main()
