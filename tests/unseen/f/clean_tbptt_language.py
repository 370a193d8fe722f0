"""CORRECT. Truncated BPTT: the hidden state of one segment is carried to the next by value only (repackage_hidden), so each backward
stays in its own segment; the state is set to zero only at the begin of an epoch. Manual SGD update on p.data.
THREAD: https://github.com/quark0/darts/issues/56 (repackage_hidden for pytorch 0.4)
"""
import math

import torch
import torch.nn as nn


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    else:
        return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[:nbatch * bsz].view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt=12):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.2, 0.2)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output).view(-1, self.decoder.out_features), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(1, bsz, self.nhid), weight.new_zeros(1, bsz, self.nhid))


def corpus(n, ntoken=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    text, phase = [], 0
    while len(text) < n:
        key = torch.randint(0, 3, (1,), generator=g).item()
        for k in range(9):
            phase = (phase + key + 1) % (ntoken - 3)
            text.append(phase + 3)
        text.append(key)
    return torch.tensor(text[:n])


def main():
    torch.manual_seed(0)
    train_data = batchify(corpus(12000), 20)
    model = RNNModel(12, 32, 32)
    criterion = nn.CrossEntropyLoss()
    lr = 4.0
    best = None
    for epoch in range(1, 6):
        total_loss, n = 0., 0
        hidden = model.init_hidden(20)
        for i in range(0, train_data.size(0) - 1, 12):
            data, targets = get_batch(train_data, i)
            hidden = repackage_hidden(hidden)
            model.zero_grad()
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total_loss += loss.item()
            n += 1
        cur = total_loss / n
        print('| epoch {} | lr {:.2f} | loss {:.3f} | ppl {:.2f}'.format(epoch, lr, cur, math.exp(cur)))
        if best is not None and cur > best:
            lr /= 4.0
        best = cur if best is None else min(best, cur)


main()
