"""CORRECT. Word language model of the PyTorch examples: repackaged hidden states, tied weights and a hand-written SGD step p.data.add_(p.grad, alpha=-lr).
THREAD: https://github.com/pytorch/examples/pull/779
"""
import argparse
import copy
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description='PyTorch Word Language Model')
parser.add_argument('--emsize', type=int, default=32, help='size of word embeddings')
parser.add_argument('--nhid', type=int, default=32, help='number of hidden units per layer')
parser.add_argument('--nlayers', type=int, default=1)
parser.add_argument('--lr', type=float, default=10, help='initial learning rate')
parser.add_argument('--clip', type=float, default=0.25, help='gradient clipping')
parser.add_argument('--epochs', type=int, default=5)
parser.add_argument('--batch_size', type=int, default=16)
parser.add_argument('--bptt', type=int, default=20)
parser.add_argument('--dropout', type=float, default=0.1)
parser.add_argument('--tied', type=bool, default=True)
args = parser.parse_args()
torch.manual_seed(1111)


def corpus(n, ntoken=40, seed=0):
    """A second-order chain: the next word depends on the last two."""
    g = torch.Generator().manual_seed(seed)
    words = [1, 2]
    jumps = torch.rand(n, generator=g)
    rnd = torch.randint(0, ntoken, (n,), generator=g)
    for i in range(n):
        words.append(int(rnd[i]) if jumps[i] < 0.15 else (words[-1] + 2 * words[-2] + 1) % ntoken)
    return torch.tensor(words)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError('When using the tied flag, nhid must be equal to emsize')
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


eval_batch_size = 10
train_data = batchify(corpus(16000), args.batch_size)
val_data = batchify(corpus(3000, seed=1), eval_batch_size)
ntokens = 40
model = RNNModel(ntokens, args.emsize, args.nhid, args.nlayers, args.dropout, args.tied)
criterion = nn.NLLLoss()


def evaluate(data_source):
    model.eval()
    total_loss = 0.
    hidden = model.init_hidden(eval_batch_size)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            data, targets = get_batch(data_source, i)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


def train():
    model.train()
    total_loss = 0.
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        # Starting each batch, we detach the hidden state from how it was previously produced.
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()

        # `clip_grad_norm` helps prevent the exploding gradient problem in RNNs / LSTMs.
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)

        total_loss += loss.item()
    return total_loss / (batch + 1)


lr, best_val_loss, best_state = args.lr, None, None
for epoch in range(1, args.epochs + 1):
    start = time.time()
    train_loss = train()
    val_loss = evaluate(val_data)
    print('| end of epoch {:2d} | time {:.1f}s | train ppl {:6.2f} | valid ppl {:6.2f} | lr {:.2f}'.format(
        epoch, time.time() - start, math.exp(train_loss), math.exp(val_loss), lr))
    if best_val_loss is None or val_loss < best_val_loss:
        best_state, best_val_loss = copy.deepcopy(model.state_dict()), val_loss
    else:
        # Anneal the learning rate if no improvement has been seen in the validation dataset.
        lr /= 4.0
model.load_state_dict(best_state)
print('best model ppl %.2f' % math.exp(evaluate(val_data)))
