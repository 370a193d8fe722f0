"""WRONG. Truncated BPTT over the target: the first chunk of a batch trains, at the second chunk backward() dies with
"Trying to backward through the graph a second time", although the decoder state is detached after every chunk.
TRUTH: RNNDecoderState.detach calls h.detach() and drops the result, the state keeps its graph; assign the detached tensors back
(self.hidden = tuple(h.detach() ...), self.input_feed = self.input_feed.detach()).
THREAD: https://github.com/OpenNMT/OpenNMT-py/issues/403
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim)

    def forward(self, src):
        memory_bank, state = self.rnn(self.embeddings(src))
        return state, memory_bank


class RNNDecoderState:
    def __init__(self, hidden_size, rnnstate):
        self.hidden = rnnstate if isinstance(rnnstate, tuple) else (rnnstate,)
        batch_size = self.hidden[0].size(1)
        self.input_feed = self.hidden[0].new_zeros(1, batch_size, hidden_size)

    @property
    def _all(self):
        return self.hidden + (self.input_feed,)

    def detach(self):
        for h in self._all:
            if h is not None:
                h.detach()  # CULPRIT

    def update_state(self, rnnstate, input_feed):
        self.hidden = rnnstate if isinstance(rnnstate, tuple) else (rnnstate,)
        self.input_feed = input_feed


class InputFeedDecoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.LSTMCell(2 * dim, dim)
        self.linear_in = nn.Linear(dim, dim, bias=False)
        self.linear_out = nn.Linear(2 * dim, dim, bias=False)

    def attend(self, query, memory_bank):
        mem = memory_bank.transpose(0, 1)
        align = torch.softmax(torch.bmm(mem, self.linear_in(query).unsqueeze(2)).squeeze(2), dim=-1)
        context = torch.bmm(align.unsqueeze(1), mem).squeeze(1)
        return torch.tanh(self.linear_out(torch.cat([context, query], 1))), align

    def forward(self, tgt, memory_bank, state):
        feed = state.input_feed.squeeze(0)
        h, c = state.hidden[0].squeeze(0), state.hidden[1].squeeze(0)
        outputs = []
        for emb in self.embeddings(tgt):
            h, c = self.rnn(torch.cat([emb, feed], 1), (h, c))
            feed, _ = self.attend(h, memory_bank)
            outputs.append(feed)
        state.update_state((h.unsqueeze(0), c.unsqueeze(0)), feed.unsqueeze(0))
        return torch.stack(outputs), state


class NMTModel(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.dim = dim
        self.encoder = Encoder(vocab, dim)
        self.decoder = InputFeedDecoder(vocab, dim)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, tgt, dec_state=None):
        enc_state, memory_bank = self.encoder(src)
        if dec_state is None:
            dec_state = RNNDecoderState(self.dim, enc_state)
        out, dec_state = self.decoder(tgt, memory_bank, dec_state)
        return self.generator(out), dec_state


class Trainer:
    def __init__(self, model, optim, trunc_size):
        self.model, self.optim, self.trunc_size = model, optim, trunc_size

    def train_batch(self, src, tgt_outer):
        dec_state, total, words = None, 0.0, 0
        target_size = tgt_outer.size(0)
        for j in range(0, target_size - 1, self.trunc_size):
            tgt = tgt_outer[j:j + self.trunc_size + 1]
            self.optim.zero_grad()
            scores, dec_state = self.model(src, tgt[:-1], dec_state)
            gold = tgt[1:]
            loss = F.cross_entropy(scores.flatten(0, 1), gold.flatten(), ignore_index=PAD, reduction="sum")
            n = int(gold.ne(PAD).sum())
            (loss / n).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optim.step()
            total += loss.item()
            words += n
            if dec_state is not None:
                dec_state.detach()
        return total / words


def make_batch(vocab, length, batch):
    src = torch.randint(2, vocab, (length, batch))
    bos = torch.ones(1, batch, dtype=torch.long)
    return src, torch.cat([bos, src], 0)


def main():
    torch.manual_seed(0)
    vocab, dim = 12, 32
    model = NMTModel(vocab, dim)
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=3e-3), trunc_size=4)
    for step in range(20):
        xent = trainer.train_batch(*make_batch(vocab, 12, 16))
        if step % 5 == 4:
            print(f"step {step + 1:3d} xent {xent:.3f} ppl {math.exp(xent):.2f}")


if __name__ == "__main__":
    main()
