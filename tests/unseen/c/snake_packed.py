"""discuss.pytorch.org, "pack_padded_sequence with sorted lengths: model learns nothing"
Symptom: batch is sorted by length inside the encoder; classification at chance.
EXPECT: runs
TRUTH: The encoder sorts the batch and returns the states in sorted order, the labels are in the original order. Undo the sort
(h[order.argsort()]) before returning."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, v=20, h=24):
        super().__init__()
        self.emb = nn.Embedding(v, 12)
        self.rnn = nn.GRU(12, h, batch_first=True)

    def forward(self, tok, lengths):
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(self.emb(tok[order]), lengths, batch_first=True)
        _, h = self.rnn(packed)
        return h[-1]  # CULPRIT


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.fc = Encoder(), nn.Linear(24, 2)

    def forward(self, tok, lengths):
        return self.fc(self.enc(tok, lengths))


def batch(n=64, t=9):
    lengths = torch.randint(2, t + 1, (n,))
    tok = torch.randint(0, 20, (n, t))
    return tok, lengths, (tok[:, 0] > 9).long()


model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
avg = 0.7
for it in range(150):
    tok, lengths, y = batch()
    loss = nn.functional.cross_entropy(model(tok, lengths), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg = 0.9 * avg + 0.1 * loss.item()
print("loss", avg)
