"""discuss.pytorch.org, "Sentiment GRU with padded batches is much worse than batch size 1"
Symptom: the information is in the last word; padded batches give a loss that hardly moves.
EXPECT: runs
TRUTH: After pad_packed_sequence out[:, -1] is the padding (zeros) for all shorter sentences. Take the state
at length - 1 (gather) or h_n."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)


class Sentiment(nn.Module):
    def __init__(self, v=25, e=12, h=24):
        super().__init__()
        self.emb = nn.Embedding(v, e, padding_idx=0)
        self.gru = nn.GRU(e, h, batch_first=True)
        self.fc = nn.Linear(h, 2)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.emb(tokens), lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.gru(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        last = out[:, -1]  # CULPRIT
        return self.fc(last)


def reviews(n=200, longest=12):
    lengths = torch.randint(2, longest + 1, (n,))
    tokens = torch.randint(1, 25, (n, longest))
    tokens[torch.arange(longest)[None] >= lengths[:, None]] = 0
    y = tokens[torch.arange(n), lengths - 1] % 2
    return tokens, lengths, y


tokens, lengths, y = reviews()
model = Sentiment()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for idx in torch.randperm(200).split(40):
        loss = nn.functional.cross_entropy(model(tokens[idx], lengths[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", nn.functional.cross_entropy(model(tokens, lengths), y).item())
