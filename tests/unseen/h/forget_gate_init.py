"""WRONG. RuntimeError: a leaf variable that requires grad is used in an in-place operation, when the weights are initialised.
TRUTH: The parameter's elements are filled in place while autograd records; initialise under torch.no_grad() (or through .data).
THREAD: https://discuss.pytorch.org/t/leaf-variable-was-used-in-an-inplace-operation/308
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import RMSprop

torch.manual_seed(0)

vocab = 10
hidden_size = 48
delay = 8


class CopyLSTM(nn.Module):
    def __init__(self, n_tokens, n_hidden, n_layers=1):
        super(CopyLSTM, self).__init__()
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.encoder = nn.Embedding(n_tokens, n_hidden)
        self.rnn = nn.LSTM(n_hidden, n_hidden, n_layers)
        self.decoder = nn.Linear(n_hidden, n_tokens)
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.weight.data.uniform_(-initrange, initrange)
        # remember by default: large bias for the forget gates
        for name, param in self.rnn.named_parameters():
            if 'bias_ih' in name:
                n = param.size(0)
                param[n // 4:n // 2].fill_(2.0)  # CULPRIT

    def init_hidden(self, bsz):
        shape = (self.n_layers, bsz, self.n_hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, input, hidden):
        emb = self.encoder(input)
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(output.view(-1, self.n_hidden))
        return decoded, hidden


def copy_batch(bsz, length=4):
    """show a few symbols, wait, then recall the first of them"""
    symbols = torch.randint(1, vocab - 1, (length, bsz))
    blank = torch.zeros(delay, bsz, dtype=torch.long)
    go = torch.full((1, bsz), vocab - 1, dtype=torch.long)
    return torch.cat([symbols, blank, go]), symbols[0]


def train(model, steps=400, bsz=32):
    optimizer = RMSprop(model.parameters(), lr=3e-3)
    total_loss, total_acc = 0.0, 0.0
    for step in range(1, steps + 1):
        data, target = copy_batch(bsz)
        hidden = model.init_hidden(bsz)
        output, hidden = model(data, hidden)
        last = output.view(data.size(0), bsz, vocab)[-1]
        loss = F.cross_entropy(last, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total_loss += loss.item()
        total_acc += (last.argmax(1) == target).float().mean().item()
        if step % 100 == 0:
            print('step %d loss %.3f recall %.3f' % (step, total_loss / 100, total_acc / 100))
            total_loss, total_acc = 0.0, 0.0


if __name__ == '__main__':
    model = CopyLSTM(vocab, hidden_size)
    train(model)
