"""Stack Overflow, "masked_fill with -inf in attention and padding in the pooled mean"
Symptom: none, asker expects nan from -inf.
EXPECT: runs
TRUTH: Correct. Every row has at least one valid key, so the softmax is finite; the mean divides by the true lengths."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pooler(nn.Module):
    def __init__(self, v=30, d=16):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, 2)

    def forward(self, tok):
        pad = tok == 0
        q, k, v = self.qkv(self.emb(tok)).chunk(3, dim=-1)
        score = q @ k.transpose(1, 2) / math.sqrt(q.size(-1))
        score = score.masked_fill(pad[:, None, :], float("-inf"))
        h = score.softmax(-1) @ v
        keep = (~pad).unsqueeze(-1)
        return self.out((h * keep).sum(1) / keep.sum(1))


n, t = 200, 10
tok = torch.randint(1, 30, (n, t))
length = torch.randint(3, t + 1, (n,))
tok[torch.arange(t) >= length[:, None]] = 0
y = (tok == 7).any(1).long()
model = Pooler()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for i in range(80):
    loss = nn.functional.cross_entropy(model(tok), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
print("loss", loss.item())
