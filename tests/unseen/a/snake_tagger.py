"""Stack Overflow, "LSTM POS tagger with batches learns nothing but single sentences work"
Symptom: cross entropy over (batch, time, tags) stays high, no error after I made
the shapes fit.
EXPECT: runs
TRUTH: view(B, C, T) only reinterprets memory, the scores of different words and tags get mixed.
The class axis must be moved with transpose(1, 2) (or both flattened to (B*T, C))."""
import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, TAGS, B, T = 30, 5, 16, 9
words = torch.randint(0, VOCAB, (128, T))
tags = words % TAGS


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 16)
        self.rnn = nn.LSTM(16, 24, batch_first=True)
        self.out = nn.Linear(24, TAGS)

    def forward(self, w):
        h, _ = self.rnn(self.emb(w))
        return self.out(h)


def tag_loss(scores, gold):
    b, t, c = scores.shape
    scores = scores.view(b, c, t)  # CULPRIT
    return nn.functional.cross_entropy(scores, gold)


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(15):
    for i in range(0, 128, B):
        w, g = words[i:i + B], tags[i:i + B]
        loss = tag_loss(model(w), g)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    acc = (model(words).argmax(-1) == tags).float().mean().item()
print("loss", loss.item(), "acc", acc)
