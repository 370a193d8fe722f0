"""WRONG. Confusion about which dimension of the bidirectional encoder's hidden state is the batch; the code runs, but the dimensions are mixed up.
TRUTH: hidden is [directions, batch, hidden] also with batch_first and is reshaped by view(batch_size, ...), which joins states of different sentences; concatenate the directions (torch.cat([hidden[0], hidden[1]], 1)) or transpose before the view.
THREAD: https://github.com/timbmg/Sentence-VAE/issues/15
"""
import math
import torch
import torch.nn as nn
import torch.nn.utils.rnn as rnn_utils

PAD, UNK, SOS, EOS = range(4)


class SentenceVAE(nn.Module):
    def __init__(self, vocab_size, embedding_size=24, hidden_size=48, word_dropout=0.5, embedding_dropout=0.1,
                 latent_size=12, num_layers=1, bidirectional=True):
        super().__init__()
        self.latent_size = latent_size
        self.bidirectional = bidirectional
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.word_dropout_rate = word_dropout
        self.embedding_dropout = nn.Dropout(p=embedding_dropout)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, num_layers=num_layers, bidirectional=bidirectional, batch_first=True)
        self.decoder_rnn = nn.GRU(embedding_size, hidden_size, num_layers=1, batch_first=True)
        self.hidden_factor = (2 if bidirectional else 1) * num_layers
        self.hidden2mean = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.hidden2logv = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.latent2hidden = nn.Linear(latent_size, hidden_size)
        self.outputs2vocab = nn.Linear(hidden_size, vocab_size)

    def forward(self, input_sequence, length):
        batch_size = input_sequence.size(0)
        sorted_lengths, sorted_idx = torch.sort(length, descending=True)
        input_sequence = input_sequence[sorted_idx]

        # ENCODER
        input_embedding = self.embedding(input_sequence)
        packed_input = rnn_utils.pack_padded_sequence(input_embedding, sorted_lengths.tolist(), batch_first=True)
        _, hidden = self.encoder_rnn(packed_input)
        if self.bidirectional or self.num_layers > 1:
            # flatten hidden state
            hidden = hidden.view(batch_size, self.hidden_size * self.hidden_factor)  # CULPRIT
        else:
            hidden = hidden.squeeze(0)

        # REPARAMETERIZATION
        mean = self.hidden2mean(hidden)
        logv = self.hidden2logv(hidden)
        std = torch.exp(0.5 * logv)
        z = torch.randn([batch_size, self.latent_size])
        z = z * std + mean

        # DECODER
        hidden = self.latent2hidden(z).unsqueeze(0)
        if self.word_dropout_rate > 0 and self.training:
            prob = torch.rand(input_sequence.size())
            prob[(input_sequence == SOS) | (input_sequence == PAD)] = 1
            decoder_input_sequence = input_sequence.clone()
            decoder_input_sequence[prob < self.word_dropout_rate] = UNK
            input_embedding = self.embedding(decoder_input_sequence)
        input_embedding = self.embedding_dropout(input_embedding)
        packed_input = rnn_utils.pack_padded_sequence(input_embedding, sorted_lengths.tolist(), batch_first=True)
        outputs, _ = self.decoder_rnn(packed_input, hidden)
        padded_outputs = rnn_utils.pad_packed_sequence(outputs, batch_first=True)[0].contiguous()
        _, reversed_idx = torch.sort(sorted_idx)
        padded_outputs = padded_outputs[reversed_idx]
        mean, logv = mean[reversed_idx], logv[reversed_idx]
        logp = nn.functional.log_softmax(self.outputs2vocab(padded_outputs), dim=-1)
        return logp, mean, logv


def kl_anneal_function(step, k=0.02, x0=250):
    return float(1 / (1 + math.exp(-k * (step - x0))))


def corpus(n, g, words=20):
    """Sentences about one topic each: two topic words and their neighbours."""
    inp, tgt, lengths = [], [], []
    for _ in range(n):
        topic = int(torch.randint(0, words, (1,), generator=g))
        body = [4 + (topic + int(torch.randint(0, 2, (1,), generator=g))) % words
                for _ in range(int(torch.randint(4, 9, (1,), generator=g)))]
        inp.append([SOS] + body)
        tgt.append(body + [EOS])
        lengths.append(len(body) + 1)
    width = max(lengths)
    pad = lambda rows: torch.tensor([r + [PAD] * (width - len(r)) for r in rows])
    return pad(inp), pad(tgt), torch.tensor(lengths)


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    train, valid = corpus(960, g), corpus(192, g)
    model = SentenceVAE(vocab_size=24)
    NLL = nn.NLLLoss(ignore_index=PAD, reduction='sum')
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss_fn(logp, target, length, mean, logv, step):
        target = target[:, :torch.max(length).item()].contiguous().view(-1)
        logp = logp.view(-1, logp.size(2))
        NLL_loss = NLL(logp, target)
        KL_loss = -0.5 * torch.sum(1 + logv - mean.pow(2) - logv.exp())
        return NLL_loss, KL_loss, kl_anneal_function(step)

    step = 0
    for epoch in range(12):
        for split, data in (('train', train), ('valid', valid)):
            model.train(split == 'train')
            nll_sum, kl_sum = 0.0, 0.0
            order = torch.randperm(len(data[0])) if split == 'train' else torch.arange(len(data[0]))
            for idx in order.split(32):
                x, y, length = data[0][idx], data[1][idx], data[2][idx]
                with torch.set_grad_enabled(split == 'train'):
                    logp, mean, logv = model(x, length)
                    NLL_loss, KL_loss, KL_weight = loss_fn(logp, y, length, mean, logv, step)
                    loss = (NLL_loss + KL_weight * KL_loss) / len(idx)
                if split == 'train':
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    step += 1
                nll_sum += NLL_loss.item()
                kl_sum += KL_loss.item()
            if epoch % 3 == 2:
                print('%s epoch %02d NLL %.3f KL %.3f' % (split.upper(), epoch, nll_sum / len(data[0]), kl_sum / len(data[0])))


if __name__ == '__main__':
    main()
