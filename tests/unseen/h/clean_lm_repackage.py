"""CORRECT. Word language model with truncated BPTT: the hidden state is carried over batches and repackaged (detached) for each (asked: what is repackage_hidden, why detach; answered).
THREAD: https://github.com/LiyuanLucasLiu/LD-Net/issues/6
"""
import math

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


def repackage_hidden(h):
    """detach hidden states from their history"""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


class LM(nn.Module):
    def __init__(self, w_num, w_dim, hid_dim, droprate=0.1):
        super(LM, self).__init__()
        self.word_embed = nn.Embedding(w_num, w_dim)
        self.rnn = nn.LSTM(w_dim, hid_dim)
        self.add_proj = nn.Linear(hid_dim, w_dim)
        self.out = nn.Linear(w_dim, w_num)
        self.out.weight = self.word_embed.weight
        self.drop = nn.Dropout(droprate)
        self.forward_hidden = None

    def init_hidden(self):
        self.forward_hidden = None

    def forward(self, w_in):
        emb = self.drop(self.word_embed(w_in))
        if self.forward_hidden is None:
            out, hidden = self.rnn(emb)
        else:
            out, hidden = self.rnn(emb, self.forward_hidden)
        self.forward_hidden = repackage_hidden(hidden)
        return self.out(self.drop(self.add_proj(out)))


def corpus(n, w_num=12):
    """a cyclic language with an occasional jump"""
    words, w = [], 0
    jump = torch.rand(n)
    target = torch.randint(0, w_num, (n,))
    for i in range(n):
        w = (w * 5 + 3) % w_num if jump[i] > 0.08 else target[i].item()
        words.append(w)
    return torch.tensor(words)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def evaluate(model, source, bptt, crit):
    model.eval()
    model.init_hidden()
    total, count = 0.0, 0
    with torch.no_grad():
        for i in range(0, source.size(0) - 1 - bptt, bptt):
            out = model(source[i:i + bptt])
            total += crit(out.view(-1, out.size(-1)), source[i + 1:i + 1 + bptt].view(-1)).item()
            count += 1
    model.train()
    return math.exp(total / count)


w_num, bptt = 12, 15
train_data = batchify(corpus(9000), 20)
valid_data = batchify(corpus(2000), 10)

model = LM(w_num, 24, 32)
crit = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    model.init_hidden()
    epoch_loss, n = 0.0, 0
    for i in range(0, train_data.size(0) - 1 - bptt, bptt):
        x, y = train_data[i:i + bptt], train_data[i + 1:i + 1 + bptt]
        model.zero_grad()
        output = model(x)
        loss = crit(output.view(-1, w_num), y.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
        n += 1
    print('epoch %d ppl %.3f valid ppl %.3f' % (
        epoch, math.exp(epoch_loss / n), evaluate(model, valid_data, bptt, crit)))
