# kind: weights_over_the_batch
"""Sentiment of short reviews with attention pooling over the words."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAD, GOOD, BAD, FIRST_FILLER, VOCAB = 0, 1, 2, 3, 60


class Reviews(Dataset):
    """One opinion word somewhere among fillers."""

    def __init__(self, n, max_len=16):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(5, max_len + 1, (1,)))
            words = torch.randint(FIRST_FILLER, VOCAB, (length,))
            label = int(torch.randint(2, (1,)))
            words[torch.randint(length, (1,))] = GOOD if label else BAD
            self.items.append((words, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, labels = zip(*batch)
    padded = nn.utils.rnn.pad_sequence(words, batch_first=True, padding_value=PAD)
    return padded, torch.tensor(labels)


def masked_softmax(scores, mask, dim):
    scores = scores.masked_fill(~mask, -1e4)
    return F.softmax(scores, dim=dim)


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1, bias=False))

    def forward(self, h, mask):
        scores = self.score(h).squeeze(-1)
        weights = masked_softmax(scores, mask, dim=0)  # CULPRIT
        return torch.einsum("bt,btd->bd", weights, h), weights


class Classifier(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pool = AttentionPool(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, words):
        pooled, weights = self.pool(self.embed(words), words != PAD)
        return self.out(pooled), weights


def main():
    torch.manual_seed(0)
    loader = DataLoader(Reviews(400), batch_size=40, shuffle=True, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        hits = seen = 0
        for words, labels in loader:
            logits, weights = model(words)
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (logits.argmax(1) == labels).sum().item()
            seen += len(labels)
        per_review = weights.detach().sum(dim=1)
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {hits / seen:.3f} "
              f"weight per review {per_review.min():.2f}..{per_review.max():.2f}")


if __name__ == "__main__":
    main()
