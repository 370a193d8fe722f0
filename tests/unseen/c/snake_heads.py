"""GitHub issue (minGPT-like repo), "My multi-head attention trains worse the more heads I use"
Symptom: with 1 head all is well, with 4 heads the associative recall task does not get solved, no error.
EXPECT: runs
TRUTH: The heads are split with view(B, H, T, d) directly, so time and features are mixed. It must be view(B, T, H, d).transpose(1, 2)."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h, self.dk = heads, d // heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, self.h, t, self.dk)  # CULPRIT

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        w = (q @ k.transpose(-1, -2) / math.sqrt(self.dk)).softmax(-1)
        y = (w @ v).transpose(1, 2).reshape(b, t, d)
        return self.o(y)


class Recall(nn.Module):
    def __init__(self, keys=8, vals=10, d=32):
        super().__init__()
        self.key, self.val = nn.Embedding(keys, d), nn.Embedding(vals + 1, d)
        self.att, self.out = Attention(d, 4), nn.Linear(d, vals)

    def forward(self, k, v):
        return self.out(self.att(self.key(k) + self.val(v)))


def episode(n=64):
    k1, k2 = (torch.rand(n, 8).argsort(1) for _ in range(2))
    table = torch.randint(0, 10, (n, 8))
    k = torch.cat([k1, k2], 1)
    v = torch.cat([table.gather(1, k1), torch.full((n, 8), 10)], 1)
    return k, v, table.gather(1, k2)


model = Recall()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(300):
    k, v, y = episode()
    logits = model(k, v)[:, 8:]
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "acc", (logits.argmax(-1) == y).float().mean().item())
