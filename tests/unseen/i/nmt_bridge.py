"""WRONG. With two encoder layers and the bridge switched on, the scores of a sentence change when only the other sentences of its batch are changed.
TRUTH: states has the shape (layers, batch, hidden) and states.view(-1, total_hidden_dim) mixes rows of different batch elements; move the batch first (permute/transpose) before flattening and move it back after the linear.
THREAD: https://github.com/OpenNMT/OpenNMT-py/issues/1521
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, LEN = 12, 5


class RNNEncoder(nn.Module):
    def __init__(self, num_layers, hidden_size, use_bridge=True):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, 16)
        self.rnn = nn.GRU(16, hidden_size, num_layers=num_layers)
        self.use_bridge = use_bridge
        if self.use_bridge:
            self._initialize_bridge(hidden_size, num_layers)

    def forward(self, src):
        memory_bank, encoder_final = self.rnn(self.embeddings(src))
        if self.use_bridge:
            encoder_final = self._bridge(encoder_final)
        return encoder_final, memory_bank

    def _initialize_bridge(self, hidden_size, num_layers):
        self.total_hidden_dim = hidden_size * num_layers
        self.bridge = nn.ModuleList([nn.Linear(self.total_hidden_dim, self.total_hidden_dim, bias=True)])

    def _bridge(self, hidden):
        def bottle_hidden(linear, states):
            size = states.size()
            result = linear(states.view(-1, self.total_hidden_dim))  # CULPRIT
            return F.relu(result).view(size)

        return bottle_hidden(self.bridge[0], hidden)


class RNNDecoder(nn.Module):
    def __init__(self, num_layers, hidden_size):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB + 1, 16)
        self.rnn = nn.GRU(16, hidden_size, num_layers=num_layers)
        self.generator = nn.Linear(hidden_size, VOCAB)

    def forward(self, tgt, state):
        out, _ = self.rnn(self.embeddings(tgt), state)
        return self.generator(out)


class NMTModel(nn.Module):
    def __init__(self, num_layers=2, hidden_size=48):
        super().__init__()
        self.encoder = RNNEncoder(num_layers, hidden_size)
        self.decoder = RNNDecoder(num_layers, hidden_size)

    def forward(self, src, tgt):
        enc_state, _ = self.encoder(src)
        bos = torch.full((1, src.size(1)), VOCAB)
        return self.decoder(torch.cat([bos, tgt[:-1]]), enc_state)


def corpus(batch):
    src = torch.randint(0, VOCAB, (LEN, batch))
    return src, (src.flip(0) + 3) % VOCAB


model = NMTModel()
optim = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(600):
    src, tgt = corpus(32)
    scores = model(src, tgt)
    loss = F.cross_entropy(scores.view(-1, VOCAB), tgt.reshape(-1))
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optim.step()
    if step % 150 == 149:
        acc = (scores.argmax(-1) == tgt).float().mean()
        print('Step %d; xent: %.3f; acc: %.3f' % (step + 1, loss.item(), acc))

with torch.no_grad():
    src, tgt = corpus(32)
    other = src.clone()
    other[:, 1:] = torch.randint(0, VOCAB, (LEN, 31))
    diff = (model(src, tgt)[:, 0] - model(other, tgt)[:, 0]).abs().max()
    print('change of the scores of sentence 0 with new neighbours: %.4f' % diff)
