"""discuss.pytorch.org, "Is it right to detach the hidden state between chunks (word language model)?"
Symptom: none, asker wonders whether detach stops the training.
EXPECT: runs
TRUTH: Correct. Detaching the carried state is truncated BPTT; all parameters get gradients from each chunk."""
import torch
import torch.nn as nn

torch.manual_seed(0)
seq = (torch.arange(400) * 3) % 11
data = seq.view(4, 100)


def repackage(h):
    return tuple(v.detach() for v in h)


class WordLM(nn.Module):
    def __init__(self, v=11, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.dec = nn.Linear(d, v)
        self.dec.weight = self.emb.weight

    def forward(self, x, h):
        o, h = self.rnn(self.emb(x), h)
        return self.dec(o), h


lm = WordLM()
opt = torch.optim.SGD(lm.parameters(), lr=1.0)
for epoch in range(15):
    h = (torch.zeros(1, 4, 24), torch.zeros(1, 4, 24))
    total = 0.0
    for i in range(0, 96, 12):
        h = repackage(h)
        out, h = lm(data[:, i:i + 12], h)
        loss = nn.functional.cross_entropy(out.flatten(0, 1), data[:, i + 1:i + 13].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 0.5)
        opt.step()
        total += loss.item()
    if epoch % 7 == 0:
        print(epoch, total / 8)
