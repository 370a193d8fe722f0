"""RIGHT. Stateful character model: hidden state carried over chunks, detached in place on purpose, resets at document ends.
TRUTH: the state is cut after each backward (truncated BPTT), resets multiply by a mask and make new tensors, the state enters evaluation as
a clone, so nothing of the training graph or of the training state is touched there; head and embedding share one weight on purpose.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CharRNN(nn.Module):
    def __init__(self, vocab, dim, layers=2, dropout=0.1):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(dropout)
        self.rnn = nn.LSTM(dim, dim, layers, dropout=dropout)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.emb.weight
        nn.init.normal_(self.emb.weight, std=dim ** -0.5)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids, state):
        y, state = self.rnn(self.drop(self.emb(ids)), state)
        return self.out(self.drop(y)), state

    def init_state(self, batch):
        shape = (self.rnn.num_layers, batch, self.rnn.hidden_size)
        p = next(self.parameters())
        return p.new_zeros(shape), p.new_zeros(shape)


class Stream:
    """Endless documents "a a+s a+2s ...": the stride s must be kept in memory."""

    def __init__(self, vocab, batch, bptt, doc_len):
        self.vocab, self.batch, self.bptt, self.doc_len = vocab, batch, bptt, doc_len
        self.t = 0
        self.start_documents()

    def start_documents(self):
        self.start = torch.randint(0, self.vocab, (self.batch,))
        self.stride = torch.randint(1, 5, (self.batch,))

    def next(self):
        fresh = self.t % self.doc_len == 0
        if fresh:
            self.start_documents()
        pos = self.t % self.doc_len + torch.arange(self.bptt + 1)[:, None]
        ids = (self.start + self.stride * pos) % self.vocab
        self.t += self.bptt
        keep = torch.zeros(self.batch) if fresh else torch.ones(self.batch)
        return ids[:-1], ids[1:], keep


def repackage(state):
    for s in state:
        s.detach_()
    return state


def reset(state, keep):
    return tuple(s * keep[None, :, None] for s in state)


@torch.no_grad()
def evaluate(model, stream, state, chunks):
    model.eval()
    state = tuple(s.clone() for s in state)
    total, n = 0.0, 0
    for _ in range(chunks):
        x, y, keep = stream.next()
        logits, state = model(x, reset(state, keep))
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        n += y.numel()
    model.train()
    return math.exp(total / n)


def main():
    torch.manual_seed(0)
    vocab, batch, bptt = 17, 16, 8
    model = CharRNN(vocab, 48)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-3)
    stream = Stream(vocab, batch, bptt, doc_len=32)
    valid = Stream(vocab, batch, bptt, doc_len=32)
    state = model.init_state(batch)
    for step in range(200):
        x, y, keep = stream.next()
        state = reset(state, keep)
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        state = repackage(state)
        if step % 40 == 39:
            ppl = evaluate(model, valid, model.init_state(batch), 8)
            print(f"step {step + 1} loss {loss.item():.3f} valid ppl {ppl:.2f}")


if __name__ == "__main__":
    main()
