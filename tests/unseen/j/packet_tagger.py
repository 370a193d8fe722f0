# kind: expanded_row_write
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)
VOCAB, TAGS, MAX_LEN = 30, 6, 16


class Sentences(Dataset):
    """The tag of a token depends on the token itself and on the one before it."""

    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(3, MAX_LEN + 1, (1,)))
            tokens = torch.randint(1, VOCAB, (length,))
            prev = torch.cat([torch.zeros(1, dtype=torch.long), tokens[:-1]])
            late = (torch.arange(length) >= 6).long()
            self.items.append((tokens, (tokens + prev % 2 + 3 * late) % TAGS))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def token_mask(lengths, max_len):
    keep = torch.ones(max_len, dtype=torch.bool).expand(len(lengths), max_len)  # CULPRIT
    for row, n in enumerate(lengths):
        keep[row, n:] = False
    return keep


def collate(batch):
    lengths = [len(tokens) for tokens, _ in batch]
    width = max(lengths)
    tokens = torch.stack([F.pad(t, (0, width - len(t))) for t, _ in batch])
    tags = torch.stack([F.pad(y, (0, width - len(y))) for _, y in batch])
    return tokens, tags, token_mask(lengths, width)


class Tagger(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.place = nn.Embedding(MAX_LEN, dim)
        self.conv = nn.Conv1d(dim, 2 * dim, 2)
        self.out = nn.Linear(2 * dim, TAGS)

    def forward(self, tokens):
        pos = torch.arange(tokens.size(1))
        x = (self.embed(tokens) + self.place(pos)).transpose(1, 2)
        h = torch.relu(self.conv(F.pad(x, (1, 0))))
        return self.out(h.transpose(1, 2))


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    right = total = 0
    for tokens, tags in data:
        right += (model(tokens[None])[0].argmax(-1) == tags).sum().item()
        total += len(tags)
    model.train()
    return right / total


train, held_out = Sentences(400), Sentences(100)
loader = DataLoader(train, batch_size=20, shuffle=True, collate_fn=collate)
model = Tagger()
opt = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=1e-3)
for epoch in range(5):
    counted = 0
    for tokens, tags, keep in loader:
        losses = F.cross_entropy(model(tokens).transpose(1, 2), tags, reduction="none")
        loss = losses[keep].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        counted += int(keep.sum())
    print(f"epoch {epoch} loss {loss.item():.3f} tokens {counted} acc {accuracy(model, held_out):.3f}")
