"""discuss.pytorch.org, "Trying to backward through the graph a second time, but only in the second iteration"
Symptom: first chunk trains, the second call of backward raises although I never call it twice.
EXPECT: raises RuntimeError
TRUTH: The hidden state kept between the chunks still carries the graph of the previous chunk,
which was freed. Detach the state when it is carried over (truncated BPTT)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
text = torch.randint(0, 20, (8, 121))


class CharLM(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 16)
        self.gru = nn.GRU(16, 32, batch_first=True)
        self.dec = nn.Linear(32, n)

    def forward(self, x, h):
        o, h = self.gru(self.emb(x), h)
        return self.dec(o), h


class State:
    def __init__(self, batch, size):
        self.h = torch.zeros(1, batch, size)

    def update(self, h):
        self.h = h  # CULPRIT


def chunks(data, n):
    for i in range(0, data.size(1) - 1, n):
        yield data[:, i:i + n], data[:, i + 1:i + n + 1]


lm = CharLM(20)
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
state = State(8, 32)
for src, trg in chunks(text, 20):
    logits, h = lm(src, state.h)
    state.update(h)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 20), trg.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
