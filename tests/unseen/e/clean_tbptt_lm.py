"""Character model with truncated backpropagation: the LSTM state is carried over batches and detached, embedding and output weights are tied, clipping between backward and step, evaluation in between with its own state."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_num_threads(1)

TEXT = "the quick brown fox jumps over the lazy dog. " * 120
CHARS = sorted(set(TEXT))


def batchify(ids, batch_size):
    n = len(ids) // batch_size
    return ids[:n * batch_size].view(batch_size, n)


class CharModel(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.decoder = nn.Linear(dim, vocab)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, hidden=None):
        out, hidden = self.lstm(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(out)), hidden


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


def evaluate(model, data, bptt):
    model.eval()
    hidden, total, count = None, 0.0, 0
    with torch.no_grad():
        for i in range(0, data.size(1) - bptt, bptt):
            out, hidden = model(data[:, i:i + bptt], hidden)
            total += F.cross_entropy(out.flatten(0, 1), data[:, i + 1:i + bptt + 1].flatten()).item()
            count += 1
    model.train()
    return total / count


def main():
    ids = torch.tensor([CHARS.index(c) for c in TEXT])
    train, valid = batchify(ids[:4500], 10), batchify(ids[4500:], 4)
    model = CharModel(len(CHARS))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    bptt = 15
    for epoch in range(8):
        hidden = None
        for i in range(0, train.size(1) - bptt, bptt):
            if hidden is not None:
                hidden = repackage_hidden(hidden)
            out, hidden = model(train[:, i:i + bptt], hidden)
            loss = F.cross_entropy(out.flatten(0, 1), train[:, i + 1:i + bptt + 1].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print("epoch %d train %.4f valid %.4f" % (epoch, loss.item(), evaluate(model, valid, bptt)))


if __name__ == "__main__":
    main()
