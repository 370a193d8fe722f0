"""Transformer encoder which classifies variable-length token sequences (which of two cue words is more frequent).

TRUTH: the padding mask is built with the sequence axis on the query side: unsqueeze(1).unsqueeze(3)
gives (batch, 1, len, 1), which broadcasts over the key axis, so rows of padded queries are filled
(their softmax turns uniform) and padded KEYS are never hidden. With -10000 in place of -inf nothing
turns into nan. Symptom: every real token attends to the pads; the pad embedding row gets gradient;
the logits of a sentence change with the amount of padding it is given, and accuracy on batches padded
further is much lower. Fix: `.unsqueeze(1).unsqueeze(2)`.
Drawn from hyunwoongko/transformer#40.
"""
import math

import torch
from torch import nn
import torch.nn.functional as F

PAD, CUE_A, CUE_B = 0, 1, 2
VOCAB = 30


class ScaleDotProductAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None):
        score = (q @ k.transpose(2, 3)) / math.sqrt(k.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        score = self.softmax(score)
        return score @ v, score


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, d = t.size()
        return t.view(b, n, self.n_head, d // self.n_head).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        out, _ = self.attention(q, k, v, mask=mask)
        b, h, n, d = out.size()
        return self.w_concat(out.transpose(1, 2).contiguous().view(b, n, h * d))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, ffn_hidden), nn.ReLU(), nn.Linear(ffn_hidden, d_model))
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, src_mask):
        x = self.norm1(x + self.attention(x, x, x, mask=src_mask))
        return self.norm2(x + self.ffn(x))


class Classifier(nn.Module):
    def __init__(self, d_model=32, n_head=4, n_layers=2, n_class=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(d_model, 64, n_head) for _ in range(n_layers))
        self.fc = nn.Linear(d_model, n_class)

    def make_src_mask(self, src):
        keep = torch.cat([torch.ones_like(src[:, :1]), src], dim=1) != PAD
        src_mask = keep.unsqueeze(1).unsqueeze(3)  # CULPRIT
        return src_mask

    def forward(self, src):
        x = torch.cat([self.cls.expand(src.size(0), -1, -1), self.emb(src)], dim=1)
        mask = self.make_src_mask(src)
        for layer in self.layers:
            x = layer(x, mask)
        return self.fc(x[:, 0])


def make_split(n, gen):
    sents, labels = [], []
    for _ in range(n):
        length = int(torch.randint(5, 16, (1,), generator=gen))
        s = torch.randint(1, VOCAB, (length,), generator=gen)
        cues = torch.rand(length, generator=gen) < 0.5
        s[cues] = torch.randint(CUE_A, CUE_B + 1, (int(cues.sum()),), generator=gen)
        a, b = int((s == CUE_A).sum()), int((s == CUE_B).sum())
        if a == b:
            s[0] = CUE_A if s[0] != CUE_A else CUE_B
            a, b = int((s == CUE_A).sum()), int((s == CUE_B).sum())
        sents.append(s)
        labels.append(int(a > b))
    return sents, torch.tensor(labels)


def collate(sents, pad_to=None):
    width = pad_to or max(len(s) for s in sents)
    out = torch.full((len(sents), width), PAD)
    for i, s in enumerate(sents):
        out[i, :len(s)] = s
    return out


@torch.no_grad()
def evaluate(model, sents, labels, pad_to=None):
    model.eval()
    acc = (model(collate(sents, pad_to)).argmax(-1) == labels).float().mean().item()
    model.train()
    return acc


torch.manual_seed(0)
gen = torch.Generator().manual_seed(1)
train_s, train_y = make_split(1200, gen)
test_s, test_y = make_split(300, gen)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    perm = torch.randperm(len(train_s), generator=gen)
    total = 0.0
    for i in range(0, len(perm), 40):
        idx = perm[i:i + 40]
        logits = model(collate([train_s[j] for j in idx]))
        loss = F.cross_entropy(logits, train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"Epoch {epoch + 1}: train loss {total / len(perm):.4f}  "
          f"test acc {evaluate(model, test_s, test_y):.3f}  "
          f"test acc (width 64) {evaluate(model, test_s, test_y, pad_to=64):.3f}")
