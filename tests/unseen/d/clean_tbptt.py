"""Character model with truncated backpropagation through time: the hidden state is carried over detached, with tied in/out embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim)
        self.decoder = nn.Linear(dim, vocab)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.3, 0.3)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(out), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(1, batch, 32), weight.new_zeros(1, batch, 32)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(text, batch):
    stoi = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([stoi[c] for c in text])
    n = len(ids) // batch
    return ids[:n * batch].view(batch, n).t().contiguous(), len(stoi)


@torch.no_grad()
def evaluate(model, data, bptt):
    model.eval()
    hidden, total, count = model.init_hidden(data.size(1)), 0.0, 0
    for i in range(0, data.size(0) - 1, bptt):
        n = min(bptt, data.size(0) - 1 - i)
        out, hidden = model(data[i:i + n], hidden)
        total += F.cross_entropy(out.flatten(0, 1), data[i + 1:i + 1 + n].flatten(), reduction="sum").item()
        count += n * data.size(1)
    model.train()
    return total / count


if __name__ == "__main__":
    torch.manual_seed(1111)
    torch.set_num_threads(1)
    text = "the quick brown fox jumps over the lazy dog and the dog sleeps. " * 60
    data, vocab = batchify(text, 8)
    model, bptt, lr = CharRNN(vocab), 20, 8.0
    for epoch in range(6):
        hidden = model.init_hidden(8)
        total_loss = 0.0
        for i in range(0, data.size(0) - 1, bptt):
            n = min(bptt, data.size(0) - 1 - i)
            hidden = repackage_hidden(hidden)
            model.zero_grad()
            out, hidden = model(data[i:i + n], hidden)
            loss = F.cross_entropy(out.flatten(0, 1), data[i + 1:i + 1 + n].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total_loss += loss.item()
        print("epoch %d  loss %.3f  eval %.3f" % (epoch, total_loss, evaluate(model, data, bptt)))
